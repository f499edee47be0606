/** Help and usage errors. Help is read in this process: forty processes would take a minute and show the same text. */
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandTable } from "../../cli/frame/command-table.ts";
import type { Context } from "../../cli/frame/context.ts";
import { Ask } from "../../cli/terminal/ask.ts";
import { Output } from "../../cli/terminal/output.ts";
import { type Home, openHome } from "./run-cli.ts";

let home: Home;
beforeAll(async () => {
  home = await openHome();
});
afterAll(() => home.close());

/** Help needs a context and asks nothing of it. */
const nobody: Context = {
  output: new Output({ json: false, colors: false, stdout: () => undefined, stderr: () => undefined }),
  ask: new Ask(false),
  environment: {},
  now: () => 0,
  signal: new AbortController().signal,
  api: () => Promise.reject(new Error("help calls no API")),
};

describe("help", () => {
  it("lists every command", async () => {
    const { code, stdout } = await home.run(["--help"]);
    expect([code, commandsIn(stdout)]).toEqual([0, commandTable.map(({ name }) => name)]);
  });

  it.each(commandTable)("of $name and of all below it has a description and examples", async (entry) => {
    const command = new Command(entry.name).description(entry.summary);
    (await entry.load())(command, nobody);
    const bare = [command, ...below(command)].filter(
      (one) => one.description() === "" || !helpOf(one).includes("Examples:\n  $ slipway "),
    );
    expect(bare.map((one) => one.name())).toEqual([]);
  });

  it("of a command below another is printed by the real thing", async () => {
    const { code, stdout } = await home.run(["project", "env", "set", "--help"]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining("$ slipway project env set shop DATABASE_URL"),
    ]);
  });
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
    expect([json.code, json.stdout]).toEqual([2, ""]);
    expect(JSON.parse(json.stderr).error).toContain(message);
  });
});

function below(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...below(one)]);
}

/** With what was added after it, which `helpInformation` leaves out. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (more) => {
      text += more;
    },
  });
  command.outputHelp();
  return text;
}

function commandsIn(help: string): string[] {
  const [, list = ""] = /\nCommands:\n([\s\S]*?)\n\n/.exec(help) ?? [];
  return [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
}
