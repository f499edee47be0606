/** Why a server could not be made ready, in the words that the operation's row will show. */
import type { OperationError } from "../../../shared/domain/deployment.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";

export class BootstrapFailure extends Error {
  /** Stable, snake_case; part of the API. */
  readonly code: string;
  readonly logTail: readonly string[];

  constructor(code: string, message: string, logTail: readonly string[] = []) {
    super(message);
    this.name = "BootstrapFailure";
    this.code = code;
    this.logTail = logTail;
  }
}

const again = "A bootstrap can be run again at any time; it does only what is missing.";

/** Everything else is a bug of ours: the mechanism logs it and says no more than "internal error". */
export function explainBootstrap(error: unknown): OperationError {
  if (error instanceof BootstrapFailure) {
    return { code: error.code, message: error.message, hint: again, logTail: [...error.logTail] };
  }
  if (error instanceof Refusal) return { code: error.code, message: error.message, hint: again, logTail: [] };
  if (error instanceof ShellFailure) {
    return { code: error.reason, message: error.message, hint: again, logTail: [] };
  }
  throw error;
}
