/** Deployments as the CLI shows them: live, through cut connections, and as exit codes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openInstance } from "./instance.ts";
import type { RunOptions } from "./run-cli.ts";
import type { Script } from "./scripted-deploy.ts";

let instance: Awaited<ReturnType<typeof openInstance>>;
let projectId: string;

const ready: Script = {
  ends: { status: "ready", error: null, urls: ["http://shop.localhost"] },
  lines: ["one", "two"],
};
const run = (argv: string, options?: RunOptions) => instance.home.run(argv.split(" "), options);

beforeAll(async () => {
  instance = await openInstance();
  const { home, url } = instance;
  const stdin = "correct horse battery\n";
  const made = await run("init --org Acme --email ada@example.com --password-stdin --json", { stdin });
  home.environment["SLIPWAY_URL"] = url;
  home.environment["SLIPWAY_TOKEN"] = JSON.parse(made.stdout).token;
  await home.run(["server", "add", "web-1", "--host", "192.0.2.1", "--generate-key", "--host-key", hostKey]);
  projectId = JSON.parse((await run("project create shop --repo acme/shop --json")).stdout).id;
});
afterAll(() => instance.close());

const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

describe("deploy", () => {
  it("without --follow and without a terminal returns at once", async () => {
    const { code, stdout } = await run("deploy shop --branch main --json");
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { projectId, status: "queued" }]);
    expect(instance.deploy.asked.at(-1)?.body).toEqual({ projectId, trigger: "cli", branch: "main" });
  });

  it("--follow shows the log, and ends with address and time", async () => {
    instance.deploy.follow(ready);
    const { code, stdout } = await run("deploy shop --follow");
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(0, 4)).toEqual([
      "one",
      "two",
      "✓ ready after 1.5 s",
      "  http://shop.localhost",
    ]);
  });

  it("--follow --json waits and prints the settled deployment alone", async () => {
    instance.deploy.follow(ready);
    const { code, stdout, stderr } = await run("deploy shop --follow --json");
    expect([code, JSON.parse(stdout).status, stderr]).toEqual([0, "ready", ""]);
  });

  it("that fails exits 1 with error, hint and the last lines of the log", async () => {
    const error = {
      code: "build_failed",
      message: "The build failed.",
      hint: "Look at line 3.",
      logTail: ["boom"],
    };
    instance.deploy.follow({ ...ready, ends: { status: "failed", error, urls: [] } });
    const { code, stdout, stderr } = await run("deploy shop --follow");
    expect([code, stderr]).toEqual([1, expect.stringContaining("The build failed.")]);
    expect(stdout).toMatch(
      /✗ failed.*\nThe build failed. \(build_failed\)\nHint: Look at line 3.\nLast lines of the log:\n {2}boom/,
    );
  });

  it("of an unknown project says what there is", async () => {
    const { code, stderr } = await run("deploy shp --json");
    expect([code, JSON.parse(stderr)]).toMatchObject([
      1,
      { code: "not_found", hint: expect.stringContaining("shop") },
    ]);
  });
});

describe("logs --follow", () => {
  it("goes on after a cut where it was, with no line twice and none missing", async () => {
    instance.deploy.follow({ ...ready, lines: ["one", "two", "three", "four"], cutAfter: 2 });
    const { code, stdout } = await run("logs --follow shop --json");
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([code, lines.map(({ line, type }) => line ?? type)]).toEqual([
      0,
      ["one", "two", "three", "four", "complete"],
    ]);
  });

  it("ends with 130 on Ctrl-C", async () => {
    instance.deploy.follow({ ...ready, hangs: true });
    expect((await run("logs --follow shop", { interruptAt: "two" })).code).toBe(130);
  });

  it("keeps colors where they are wanted, and takes out what could drive the terminal", async () => {
    const line = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\x1b[1A \x9b2J\u202eend";
    instance.deploy.follow({ ...ready, hangs: false, lines: [line] });
    const plain = await run("logs --follow shop");
    expect(plain.stdout.split("\n")[0]).toBe("red end");
    const colored = await run("logs --follow shop", { environment: { FORCE_COLOR: "1" } });
    expect(colored.stdout.split("\n")[0]).toBe("\x1b[31mred\x1b[0m end\x1b[0m");
  });
});

describe("rollback", () => {
  it("of a project goes to the version before the active one", async () => {
    instance.deploy.deployments.length = 0;
    const older = instance.deploy.add(projectId, { status: "ready" });
    instance.deploy.add(projectId, { status: "failed" });
    instance.deploy.add(projectId, { status: "ready", isActive: true });
    instance.deploy.add(projectId, { status: "ready" });
    expect((await run("rollback shop --json")).code).toBe(0);
    expect(instance.deploy.asked.at(-1)).toMatchObject({
      method: "POST",
      path: `/api/deployments/${older.id}/rollback`,
    });
  });
});
