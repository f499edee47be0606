/**
 * Why a deployment cannot go on, in the words that its row will show: code, sentence, hint, last lines. Everything
 * that a project, a git host or a server does wrong is one of these; any other thrown value is a bug of ours.
 */
export class DeployFailure extends Error {
  /** Stable, snake_case; part of the API. */
  readonly code: string;
  /** What the user can do about it. */
  readonly hint: string | null;
  /** Last lines of what failed, already redacted. */
  readonly logTail: readonly string[];

  constructor(code: string, message: string, hint: string | null = null, logTail: readonly string[] = []) {
    super(message);
    this.name = "DeployFailure";
    this.code = code;
    this.hint = hint;
    this.logTail = logTail;
  }
}
