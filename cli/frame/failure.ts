/** How a command ends: the exit codes, and the one kind of failure that the CLI prints as a sentence. */

/** Documented in docs/cli.md; part of the interface for scripts. */
export const exitCodes = {
  done: 0,
  /** The API refused, or the deployment failed. */
  failed: 1,
  /** Wrong usage, or nothing was changed. */
  usage: 2,
  notLoggedIn: 3,
  unreachable: 4,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

export interface FailureOptions {
  details?: readonly { path: string; message: string }[] | undefined;
  /** What to do about it. */
  hint?: string;
  /** The API's status, where it answered. */
  status?: number;
  cause?: unknown;
}

export class Failure extends Error {
  readonly exit: keyof typeof exitCodes;
  /** Stable, snake_case: the API's code, or one of the CLI's own. */
  readonly code: string;
  readonly details: FailureOptions["details"];
  readonly hint: string | undefined;
  readonly status: number | undefined;

  constructor(exit: keyof typeof exitCodes, code: string, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Failure";
    this.exit = exit;
    this.code = code;
    this.details = options.details;
    this.hint = options.hint;
    this.status = options.status;
  }
}

/** The command line itself is wrong. */
export function usage(message: string, hint?: string): Failure {
  return new Failure("usage", "usage", message, hint === undefined ? {} : { hint });
}

export function interrupted(): Failure {
  return new Failure("interrupted", "interrupted", "Interrupted.");
}
