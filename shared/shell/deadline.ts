/**
 * One wall-clock deadline and the caller's own signal as a single AbortSignal whose reason is the `ShellFailure` to throw.
 * Rejected: `AbortSignal.any` with `AbortSignal.timeout`: the reason would not say which of the two it was in the port's words.
 */
import { ShellFailure } from "../ports/shell.ts";

export interface Deadline {
  signal: AbortSignal;
  /** Must be called at the end: it drops the timer and the listener. */
  clear(): void;
}

/** The longest delay that a timer of Node takes; more would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export function startDeadline(deadlineMs: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const onAbort = (): void => {
    controller.abort(
      new ShellFailure("aborted", "The remote command was cancelled.", { cause: outer?.reason }),
    );
  };
  const onTimeout = (): void => {
    controller.abort(new ShellFailure("deadline", `The server did not finish within ${deadlineMs} ms.`));
  };
  const timer = setTimeout(onTimeout, Math.min(Math.max(0, deadlineMs), longestDelayMs));
  if (outer?.aborted === true) {
    onAbort();
  } else {
    outer?.addEventListener("abort", onAbort, { once: true });
  }
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", onAbort);
    },
  };
}
