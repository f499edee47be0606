#!/usr/bin/env node
/**
 * The CLI's entry: finds the command, runs it, turns every end into an exit code (docs/cli.md). Usage errors are 2, so
 * that scripts can tell them from a refusal of the API.
 */
import { Command, CommanderError } from "commander";
import packageDocument from "../package.json" with { type: "json" };
import { type CommandEntry, commandTable } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { exitCodes, Failure, usage } from "./frame/failure.ts";
import { Ask } from "./terminal/ask.ts";
import { Output } from "./terminal/output.ts";

const topics = `
Examples:
  $ slipway init --org Acme --email me@example.org --login
  $ slipway server add web-1 --host 203.0.113.7 --key ~/.ssh/id_ed25519
  $ slipway project create shop --server web-1 --repo acme/shop
  $ slipway deploy shop

Exit codes: 0 done, 1 refused or failed, 2 wrong usage or nothing changed, 3 not logged in, 4 unreachable.
Environment: SLIPWAY_URL, SLIPWAY_TOKEN, NO_COLOR.`;

const interruption = new AbortController();
process.exitCode = exitCodes[await run(process.argv.slice(2))];

async function run(argv: readonly string[]): Promise<keyof typeof exitCodes> {
  const json = argv.includes("--json");
  const output = makeOutput(json);
  process.once("SIGINT", () => {
    interruption.abort();
    // A command that follows something ends by itself; anything else ends here.
    setTimeout(() => process.exit(exitCodes.interrupted), 1_000).unref();
  });
  try {
    const words = argv.filter((word) => !word.startsWith("-"));
    const named = words[0] === "help" ? words[1] : words[0];
    const wanted = commandTable.find(({ name }) => name === named);
    const program = await makeProgram(wanted, makeContext(output), json);
    await program.parseAsync(argv, { from: "user" });
    return "done";
  } catch (error) {
    return ended(error, output);
  }
}

async function makeProgram(
  wanted: CommandEntry | undefined,
  context: Context,
  json: boolean,
): Promise<Command> {
  const program = new Command("slipway")
    .description("Build, release and look after projects on servers you own.")
    .version(packageDocument.version, "-V, --version")
    .option("--json", "print only JSON on stdout, and errors as JSON on stderr")
    .addHelpText("after", topics);
  program.exitOverride().configureHelp({ showGlobalOptions: true });
  program.showSuggestionAfterError(true);
  // Commander's own complaints go out as our failures, in JSON too.
  program.configureOutput({ outputError: () => undefined, ...(json ? { writeErr: () => undefined } : {}) });
  for (const entry of commandTable) {
    const command = program
      .command(entry.name)
      .summary(entry.summary)
      .description(`${capital(entry.summary)}.`);
    if (entry === wanted) (await entry.load())(command, context);
  }
  return program;
}

function makeContext(output: Output): Context {
  const interactive = process.stdin.isTTY === true && process.stderr.isTTY === true && !output.json;
  const context: Context = {
    output,
    ask: new Ask(interactive),
    environment: process.env,
    now: Date.now,
    signal: interruption.signal,
    api: async () => (await import("./api/connect.ts")).connect(context),
  };
  return context;
}

function makeOutput(json: boolean): Output {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // `slipway … | head` closes the pipe early: that is no failure.
      if (error.code !== "EPIPE") throw error;
      process.exit(exitCodes.done);
    });
  }
  return new Output({
    json,
    colors: wantsColors(),
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
  });
}

/** https://no-color.org; FORCE_COLOR asks for colors in a pipe. */
function wantsColors(): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== "0";
  return process.stdout.isTTY === true && TERM !== "dumb";
}

function ended(error: unknown, output: Output): keyof typeof exitCodes {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return "done";
    // Help that was asked for by leaving everything out is printed already.
    if (error.code !== "commander.help") output.failure(usage(error.message.replace(/^error: /, "")));
    return "usage";
  }
  const failure = error instanceof Failure ? error : unexpected(error);
  output.failure(failure);
  return failure.exit;
}

/** A bug of ours; its stack is shown on demand only. */
function unexpected(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const stack = process.env["SLIPWAY_DEBUG"] && error instanceof Error ? error.stack : undefined;
  return new Failure("failed", "internal", `Unexpected: ${message}`, {
    hint: stack ?? "Set SLIPWAY_DEBUG=1 to see where it happened.",
    cause: error,
  });
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
