/** Examples below the help of a command: every command has some, and a test looks for them. */
import type { Command } from "commander";

export function examples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText(
    "after",
    `\nExamples:\n${lines.map((line) => `  $ slipway ${line}`).join("\n")}`,
  );
}
