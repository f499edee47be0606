/** One command on a warm session, as every step of a deployment is one. */
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { labTarget } from "../../shared/shell/lab-target.ts";
import type { Row } from "../row.ts";
import { median } from "../statistics.ts";

export const sshCommand: Row = {
  name: "ssh",
  what: "`true` on a warm session; floor: OpenSSH with ControlMaster",
  async measure(stage) {
    const { floor: server, ssh } = await stage.servers();
    const shell = createSsh2Shell();
    const target = labTarget(server);
    try {
      const ours: number[] = [];
      const floor: number[] = [];
      await shell.run(target, { argv: ["true"], deadlineMs: 10_000 });
      for (let round = 0; round < (stage.quick ? 20 : 200); round++) {
        ours.push(await timed(() => shell.run(target, { argv: ["true"], deadlineMs: 10_000 })));
        floor.push(await timed(() => ssh.run(["true"])));
      }
      return {
        lines: [
          {
            what: "ssh command, warm",
            unit: "ms",
            ours: median(ours),
            floor: median(floor),
            goal: { ratioAtMost: 1 },
          },
        ],
      };
    } finally {
      await shell.close();
    }
  },
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
