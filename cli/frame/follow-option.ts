/** Whether to wait for the end: as said, else where a person watches. Scripts say `--follow` when they want to wait. */
import type { Context } from "./context.ts";

export function follows(options: { follow?: boolean }, context: Context): boolean {
  return options.follow ?? context.ask.available;
}
