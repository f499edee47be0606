/**
 * The only place where a refusal becomes a status and a body (decisions.md section 1). What is not a `Refusal` is a
 * bug: it is logged under an id, and the answer says no more than that id.
 */
import { HTTPException } from "hono/http-exception";
import { Refusal, type RefusalKind } from "../domain/refusal.ts";
import type { Log } from "../ports/log.ts";

const statuses: Record<RefusalKind, number> = {
  validation: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  precondition: 412,
  too_large: 413,
  rate_limited: 429,
  upstream: 502,
  unavailable: 503,
};

export interface RefusalResponseOptions {
  log: Log;
  requestId: string;
  /** Bodies of the deployments module also carry `success: false`. */
  success?: false;
}

export function refusalResponse(error: unknown, options: RefusalResponseOptions): Response {
  const refusal = asRefusal(error);
  if (refusal === null) {
    options.log.error({ err: error, requestId: options.requestId }, "internal error");
    return answer(
      500,
      { error: `Internal error; the log has it under ${options.requestId}.`, code: "internal" },
      options,
    );
  }
  if (refusal.cause !== undefined) {
    options.log.info({ err: refusal.cause, code: refusal.code, requestId: options.requestId }, "refused");
  }
  const details = refusal.details === undefined ? {} : { details: refusal.details };
  const body = { error: refusal.message, code: refusal.code, ...details };
  return answer(statuses[refusal.kind], body, options, refusal.retryAfterSeconds);
}

function answer(
  status: number,
  body: Record<string, unknown>,
  options: RefusalResponseOptions,
  retryAfterSeconds?: number,
): Response {
  const marked = options.success === false ? { success: false, ...body } : body;
  const headers: Record<string, string> = { "x-request-id": options.requestId };
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds);
  return Response.json(marked, { status, headers });
}

/** hono throws `HTTPException` for a body that is not JSON; everything else of its own is a bug of ours. */
function asRefusal(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  if (error instanceof HTTPException && error.status === 400) {
    return new Refusal("validation", "malformed_json", "The body is not valid JSON.", {
      details: [{ path: "body", message: "is not valid JSON" }],
    });
  }
  return null;
}
