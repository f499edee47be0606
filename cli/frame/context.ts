/** What every command is given. Commands reach the terminal, the clock and the API through it and nothing else. */
import type { Api } from "../api/connect.ts";
import type { Ask } from "../terminal/ask.ts";
import type { Output } from "../terminal/output.ts";

export interface Context {
  output: Output;
  ask: Ask;
  environment: Readonly<Record<string, string | undefined>>;
  now: () => number;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** The API as the present login; fails with exit code 3 when nobody is logged in. */
  api: () => Promise<Api>;
}
