/**
 * Hands a request on to the function that serves its route. Only headers that a handler has a use for go along: a list
 * of what may pass cannot forget a credential, a cookie or a forged identity, as a list of what may not could.
 * Bodies and streams pass unbuffered; a caller who leaves ends the work behind.
 */
import type { Context } from "hono";
import { limits } from "../../shared/domain/limits.ts";
import { nobody } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { ModuleName } from "../../shared/ports/forwarder.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { inBackground } from "./in-background.ts";

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

/** Given as a reason, since the error that is made otherwise, with its stack, is read by nobody. */
const nobodyWaits = "answered";

export async function forward(
  c: Context<EdgeEnv>,
  module: ModuleName,
  options: EdgeOptions,
): Promise<Response> {
  const over = new AbortController();
  const answered = new AbortController();
  const identity =
    c.get("identity") ?? nobody({ sourceIp: c.get("sourceIp"), requestId: c.get("requestId") });
  const ends = [c.req.raw.signal, over.signal, c.get("streamed")?.cut].filter((each) => each !== undefined);
  const request = forwardedRequest(c, AbortSignal.any(ends));
  const given = options.forwarder.forward(module, request, identity);
  const answer = given
    .then((each) => passOn(each, c, options.log))
    .catch((cause: unknown) => {
      if (cause instanceof Refusal) throw cause;
      const refused = c.get("streamed")?.refused();
      if (refused !== undefined) throw refused;
      throw new Refusal("upstream", "module_unreachable", "This part of the platform does not answer.", {
        cause,
      });
    });
  const waitMs = c.get("streamed") === undefined ? limits.forwardMs : limits.forwardMs + limits.uploadMs;
  const tooLate = options.clock.sleep(waitMs, answered.signal).then(() => {
    throw new Refusal("upstream", "module_timeout", "This part of the platform did not answer in time.");
  });
  // Whichever loses the race is rejected later, by the abort below: nobody waits for it any more.
  answer.catch(() => undefined);
  tooLate.catch(() => undefined);
  try {
    const [response] = await Promise.all([Promise.race([answer, tooLate]), c.get("counted")]);
    return response;
  } catch (error) {
    over.abort(error);
    // One that comes, or came, all the same is read by nobody.
    answer.then((each) => each.body?.cancel()).catch(() => undefined);
    throw error;
  } finally {
    answered.abort(nobodyWaits);
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
  const body = method === "GET" ? null : (c.get("streamed")?.stream ?? c.req.raw.body);
  const init = { method, headers, signal, body, ...(body === null ? {} : { duplex: "half" }) };
  return new Request(url, init as RequestInit);
}

async function passOn(answer: Response, c: Context<EdgeEnv>, log: Log): Promise<Response> {
  const headers = new Headers();
  for (const [name, value] of answer.headers) if (!keptBack.test(name)) headers.append(name, value);
  const { status } = answer;
  if (isSmall(answer, c))
    return new Response(new Uint8Array(await answer.arrayBuffer()), { status, headers });
  if (answer.body === null || c.req.method !== "HEAD") {
    return new Response(unbroken(answer.body, c, log), { status, headers });
  }
  inBackground(c, log, "the body behind a HEAD could not be let go", answer.body.cancel());
  return new Response(null, { status, headers });
}

/** JSON of a route that does not stream has a bound of its own, and goes out in one piece at half the cost. */
function isSmall({ headers, status }: Response, c: Context<EdgeEnv>): boolean {
  if (c.req.method === "HEAD" || [204, 304].includes(status)) return false;
  if (c.get("matched").route.policy.stream === true) return false;
  return headers.get("content-type")?.startsWith("application/json") === true;
}

/** Node's server would write the message of the error into the body and end it as if it were whole. */
function unbroken(
  body: ReadableStream<Uint8Array> | null,
  c: Context<EdgeEnv>,
  log: Log,
): ReadableStream<Uint8Array> | null {
  const { cut } = c.env ?? {};
  if (body === null || cut === undefined) return body;
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          log.info({ err: error, requestId: c.get("requestId") }, "an answer broke off");
          cut();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
