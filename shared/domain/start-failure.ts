/**
 * The platform or a tool cannot start until a person changes something: a wrong setting, a folder that cannot be used,
 * a second live platform. The composition roots print `message` alone, without a stack, and exit 1. It never reaches
 * the API; what the API refuses is a `Refusal`.
 */
export class StartFailure extends Error {
  /** Stable, snake_case; for tests and for `slipway doctor`. */
  readonly code: string;

  /** `message` says what is wrong, where, and what to do; it may name paths, since only the operator reads it. */
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StartFailure";
    this.code = code;
  }
}
