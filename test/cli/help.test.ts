/** Help and usage errors: every command, found by walking the help itself. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Home, openHome } from "./run-cli.ts";

let home: Home;
beforeAll(async () => {
  home = await openHome();
});
afterAll(() => home.close());

const top = [
  "init",
  "login",
  "logout",
  "status",
  "token",
  "server",
  "project",
  "deploy",
  "deployments",
  "logs",
];
const rest = ["rollback", "redeploy", "cancel", "pin", "unpin"];

describe("help", () => {
  it("lists every command", async () => {
    const { code, stdout } = await home.run(["--help"]);
    expect([code, commandsIn(stdout)]).toEqual([0, expect.arrayContaining([...top, ...rest])]);
    expect(commandsIn(stdout)).toHaveLength(top.length + rest.length);
  });

  it.each([...top, ...rest])(
    "of %s and all below has examples",
    async (name) => {
      await walk([name]);
    },
    60_000,
  );

  async function walk(path: string[]): Promise<void> {
    const { code, stdout } = await home.run([...path, "--help"]);
    expect([path.join(" "), code, stdout]).toEqual([
      path.join(" "),
      0,
      expect.stringContaining("Examples:\n  $ slipway"),
    ]);
    await Promise.all(commandsIn(stdout).map((name) => walk([...path, name])));
  }
});

describe("wrong usage", () => {
  it.each([
    [["nonsense"], "unknown command"],
    [["deploy"], "missing required argument"],
    [["deploy", "shop", "--nonsense"], "unknown option"],
    [["deployments", "list", "--limit", "many"], "not a whole number"],
    [["project", "create", "shop", "--repo", "nonsense"], "not a repository"],
    [["login", "ftp://example.org", "--token-stdin"], "http or https"],
    [["login", "https://u:p@example.org", "--token-stdin"], "without user name"],
  ])("%j exits 2 and says why, in JSON too", async (argv, message) => {
    const [plain, json] = await Promise.all([home.run(argv), home.run([...argv, "--json"])]);
    expect([plain.code, plain.stdout, plain.stderr]).toEqual([2, "", expect.stringContaining(message)]);
    expect([json.code, json.stdout, JSON.parse(json.stderr).error]).toEqual([
      2,
      "",
      expect.stringContaining(message),
    ]);
  });
});

function commandsIn(help: string): string[] {
  const [, list = ""] = /\nCommands:\n([\s\S]*?)\n\n/.exec(help) ?? [];
  return [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
}
