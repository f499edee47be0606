/** Questions on a real terminal, as `script` of Debian's essential packages provides one. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openInstance } from "./instance.ts";
import { openSshPeer } from "./ssh-peer.ts";

let instance: Awaited<ReturnType<typeof openInstance>>;
let peer: Awaited<ReturnType<typeof openSshPeer>>;

beforeAll(async () => {
  instance = await openInstance();
  peer = await openSshPeer();
  const stdin = "correct horse battery\n";
  const argv = ["init", "--org", "Acme", "--email", "ada@example.com", "--password-stdin", "--json"];
  const made = await instance.home.run(argv, { stdin });
  Object.assign(instance.home.environment, {
    SLIPWAY_URL: instance.url,
    SLIPWAY_TOKEN: JSON.parse(made.stdout).token,
    TERM: "xterm",
  });
});
afterAll(async () => {
  await peer.close();
  await instance.close();
});

// Other systems have another `script`, or none.
describe.skipIf(!existsSync("/usr/bin/script"))("on a terminal", () => {
  const add = () => [
    "server",
    "add",
    "web-1",
    "--host",
    "127.0.0.1",
    "--port",
    `${peer.port}`,
    "--generate-key",
  ];
  const question = "Is that the fingerprint of your server?";

  it("server add shows the fingerprint and adds nothing when the answer is no", async () => {
    const { code, text } = await onTerminal(add(), question, "n");
    expect(text).toMatch(/ssh-ed25519 key with the fingerprint\s+SHA256:/);
    expect([code, text]).toEqual([2, expect.stringContaining("Nothing was added.")]);
    expect((await instance.home.run(["server", "list", "--json"])).stdout.trim()).toBe("[]");
  });

  it("server add adds it when the answer is yes", async () => {
    const { code, text } = await onTerminal(add(), question, "y");
    expect([code, text]).toEqual([0, expect.stringContaining("Added web-1")]);
  });

  it("Ctrl-C at a question ends with 130", async () => {
    const { code } = await onTerminal(["server", "remove", "web-1"], "Forget the server web-1?", "\x03");
    expect(code).toBe(130);
  });

  it("--json asks nothing", async () => {
    const { code, text } = await onTerminal(["server", "remove", "web-1", "--json"], "(no question)", "");
    expect([code, JSON.parse(text).code]).toEqual([2, "usage"]);
  });
});

/** Types `keys` when `prompt` is on the screen. */
function onTerminal(argv: readonly string[], prompt: string, keys: string) {
  const entry = join(import.meta.dirname, "../../cli/slipway.ts");
  // All of it is ours and without blanks or quotes: `script` wants one string.
  const command = `stty cols 200 rows 50; exec ${[process.execPath, entry, ...argv].join(" ")}`;
  const child = spawn("/usr/bin/script", ["-qec", command, "/dev/null"], {
    env: instance.home.environment,
    timeout: 25_000,
    killSignal: "SIGKILL",
  });
  return new Promise<{ code: number | null; text: string }>((resolve, reject) => {
    let screen = "";
    let typed = false;
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      screen += more;
      if (typed || !stripVTControlCharacters(screen).includes(prompt)) return;
      typed = true;
      child.stdin.write(keys);
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, text: stripVTControlCharacters(screen) }));
  });
}
