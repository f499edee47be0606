/**
 * Hands a request on to the function that serves its route. Only headers that a handler has a use for go along: a list
 * of what may pass cannot forget a credential, a cookie or a forged identity, as a list of what may not could.
 * Bodies and streams pass unbuffered; a caller who leaves ends the work behind.
 */
import type { Context } from "hono";
import { limits } from "../../shared/domain/limits.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { ModuleName } from "../../shared/ports/forwarder.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";

const passedOn = [
  "accept",
  "accept-language",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "last-event-id",
  "user-agent",
];

/** Of the connection and not of the answer (RFC 9110), or ours alone. */
const keptBack = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|x-slipway-.*)$/;

export async function forward(
  c: Context<EdgeEnv>,
  module: ModuleName,
  options: EdgeOptions,
): Promise<Response> {
  const over = new AbortController();
  const answered = new AbortController();
  const request = forwardedRequest(c, AbortSignal.any([c.req.raw.signal, over.signal]));
  const answer = options.forwarder.forward(module, request, c.get("identity")).catch((cause: unknown) => {
    if (cause instanceof Refusal) throw cause;
    throw new Refusal("upstream", "module_unreachable", "This part of the platform does not answer.", {
      cause,
    });
  });
  const tooLate = options.clock.sleep(limits.forwardMs, answered.signal).then(() => {
    throw new Refusal("upstream", "module_timeout", "This part of the platform did not answer in time.");
  });
  // Whichever loses the race is rejected later, by the abort below: nobody waits for it any more.
  answer.catch(() => undefined);
  tooLate.catch(() => undefined);
  try {
    return passOn(await Promise.race([answer, tooLate]), c.req.method);
  } catch (error) {
    over.abort(error);
    throw error;
  } finally {
    answered.abort();
  }
}

function forwardedRequest(c: Context<EdgeEnv>, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const name of passedOn) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  // The path that was matched, and no other spelling of it; the query is the function's to read.
  const url = `http://slipway.internal${c.get("matched").path}${new URL(c.req.url).search}`;
  const method = c.req.method === "HEAD" ? "GET" : c.req.method;
  const body = method === "GET" ? null : c.req.raw.body;
  const init = { method, headers, signal, body, ...(body === null ? {} : { duplex: "half" }) };
  return new Request(url, init as RequestInit);
}

function passOn(answer: Response, method: string): Response {
  const headers = new Headers();
  for (const [name, value] of answer.headers) if (!keptBack.test(name)) headers.append(name, value);
  if (method === "HEAD") void answer.body?.cancel();
  return new Response(method === "HEAD" ? null : answer.body, { status: answer.status, headers });
}
