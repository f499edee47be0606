/**
 * Questions to a person. Only where stdin and stderr are a terminal and `--json` is not given; everything that can be
 * asked can also be said by an option, so that scripts never hang. Questions go to stderr: stdout is for results.
 */
import { Failure, interrupted, usage } from "../frame/failure.ts";
import { plainText } from "./text.ts";

export class Ask {
  readonly available: boolean;

  constructor(available: boolean) {
    this.available = available;
  }

  /** `option` is named when nobody can be asked. */
  async text(message: string, option: string, initial?: string): Promise<string> {
    this.#insist(option);
    const { text } = await import("@clack/prompts");
    const answer = await text({
      message: plainText(message),
      output: process.stderr,
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (value) => (value?.trim() ? undefined : "Please enter something."),
    });
    return said(answer);
  }

  async secret(message: string, option: string): Promise<string> {
    this.#insist(option);
    const { password } = await import("@clack/prompts");
    const answer = await password({
      message: plainText(message),
      output: process.stderr,
      validate: (value) => (value ? undefined : "Please enter something."),
    });
    return said(answer);
  }

  async confirm(message: string): Promise<boolean> {
    const { confirm } = await import("@clack/prompts");
    return said(await confirm({ message: plainText(message), output: process.stderr, initialValue: false }));
  }

  /** For what cannot be undone: `--yes`, or a person who says so. */
  async confirmOrYes(message: string, yes: boolean | undefined): Promise<void> {
    if (yes) return;
    if (!this.available) throw usage(`${message} Say --yes to do it without a question.`);
    if (!(await this.confirm(message))) throw new Failure("usage", "not_confirmed", "Nothing was changed.");
  }

  #insist(option: string): void {
    if (!this.available) throw usage(`${option} is required when there is no terminal to ask on.`);
  }
}

function said<T>(answer: T): Exclude<T, symbol> {
  if (typeof answer === "symbol") throw interrupted();
  return answer as Exclude<T, symbol>;
}
