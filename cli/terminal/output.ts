/**
 * The one way out of the CLI. With `--json` stdout carries JSON and nothing else and stderr carries the error alone;
 * without it text goes out line by line through the filter of text.ts, so that no command can forget it.
 */
import { styleText } from "node:util";
import type { Failure } from "../frame/failure.ts";
import { logText, plainText } from "./text.ts";

export interface OutputOptions {
  json: boolean;
  colors: boolean;
  /** Complete text, newline included. */
  stdout: (text: string) => void;
  stderr: (text: string) => void;
}

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export class Output {
  readonly json: boolean;
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.json = options.json;
    this.#options = options;
  }

  /** The result of a command: `value` as one JSON document, or what `human` makes of it. */
  result(value: unknown, human: () => string): void {
    if (this.json) this.#options.stdout(`${JSON.stringify(value, null, 2)}\n`);
    else this.text(human());
  }

  /** One line of a stream: newline-delimited JSON, or the text. */
  event(value: unknown, human: () => string | undefined): void {
    if (this.json) {
      this.#options.stdout(`${JSON.stringify(value)}\n`);
      return;
    }
    const text = human();
    if (text !== undefined) this.text(text);
  }

  /** Text for people on stdout; nothing with `--json`. */
  text(text: string): void {
    if (!this.json) this.#options.stdout(this.#printable(text));
  }

  /** What happens meanwhile, on stderr; nothing with `--json`. */
  note(text: string): void {
    if (!this.json) this.#options.stderr(this.#printable(text));
  }

  failure(failure: Failure): void {
    if (this.json) {
      const { code, details, hint } = failure;
      this.#options.stderr(`${JSON.stringify({ error: failure.message, code, details, hint })}\n`);
      return;
    }
    const details = (failure.details ?? []).map(
      ({ path, message }) => `  ${plainText(path)}: ${plainText(message)}`,
    );
    const hint = failure.hint === undefined ? [] : [plainText(failure.hint)];
    const head = `${this.style("red", "Error:")} ${plainText(failure.message)}`;
    this.#options.stderr(this.#printable([head, ...details, ...hint].join("\n")));
  }

  style(style: Style, text: string): string {
    return this.#options.colors && text !== "" ? styleText(style, text, { validateStream: false }) : text;
  }

  #printable(text: string): string {
    return text
      .split("\n")
      .map((line) => `${logText(line, this.#options.colors)}\n`)
      .join("");
  }
}
