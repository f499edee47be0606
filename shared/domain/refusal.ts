/**
 * The one kind of expected failure. A use case throws a `Refusal`; only the HTTP layer maps its kind to a status
 * (shared/http). Anything else that is thrown is a bug: logged with an id and answered as "internal error".
 * The public sentence and the internal cause are two fields, so that a cause can never leak by accident.
 */
export type RefusalKind =
  | "validation" // 400
  | "unauthenticated" // 401
  | "forbidden" // 403
  | "not_found" // 404
  | "conflict" // 409
  | "precondition" // 412
  | "too_large" // 413
  | "rate_limited" // 429
  | "upstream" // 502: the server behind us could not be reached or refused
  | "unavailable"; // 503

export interface RefusalDetail {
  /** Where in the request: `body.name`, `query.limit`, `path.id`. */
  path: string;
  message: string;
}

export interface RefusalOptions {
  details?: RefusalDetail[];
  cause?: unknown;
  /** Only with `rate_limited` and `unavailable`: when to try again. */
  retryAfterSeconds?: number;
}

export class Refusal extends Error {
  readonly kind: RefusalKind;
  /** Stable, snake_case; part of the API. */
  readonly code: string;
  readonly details: RefusalDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  /** `message` is public: one sentence that a person can act on, without secrets, SQL, paths or stacks. */
  constructor(kind: RefusalKind, code: string, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Refusal";
    this.kind = kind;
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Absent, deleted or of another organization: all three with the same body. */
export function notFound(): Refusal {
  return new Refusal("not_found", "not_found", "There is no such thing here, or you may not see it.");
}

/** One wrong field. */
export function invalid(path: string, message: string, code = "validation_failed"): Refusal {
  return new Refusal("validation", code, `${path}: ${message}`, { details: [{ path, message }] });
}
