/** Ten thousand commands over one shell, as root and through sudo: nothing of them is left, here or on the server. */
import { expect, it } from "vitest";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { labTarget } from "../shared/shell/lab-target.ts";
import { soakShell } from "../shared/shell/soak-shell.ts";

describeWithLab("ten thousand commands over ssh2", ({ startServer }) => {
  it.each([
    ["root", 8_000],
    ["admin", 2_000],
  ])("as %s leave no session, process, file, socket, listener or memory behind", async (user, commands) => {
    const server = await startServer({ kind: "bare", images: [] });
    try {
      const soak = { commands, width: 24, seed: 20_261_121 };
      expect(await soakShell(server, labTarget(server, { user }), soak)).toBe(commands);
    } finally {
      await server.remove();
    }
  });
});
