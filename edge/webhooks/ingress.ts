/**
 * POST /api/webhooks/:provider, from the provider on: provider 404 → signature 401 → JSON 400 → store 503 → handler.
 * Rate and size are checked before (router/gates.ts). An answer of 200 means: stored for good.
 */
import type { Context } from "hono";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { inBackground } from "../router/in-background.ts";
import { type Received, receive } from "./inbox.ts";
import { providerOf, unknownProvider } from "./providers.ts";
import { resolveTrust } from "./resolve-secret.ts";
import { readDelivery, readHeaders } from "./signature.ts";

export async function receiveDelivery(c: Context<EdgeEnv>, given: EdgeOptions): Promise<Response> {
  // Whatever is said about this delivery further down is said under the id of its request.
  const options = { ...given, log: given.log.child({ requestId: c.get("requestId") }) };
  const name = c.get("matched").params["provider"] ?? "";
  const provider = providerOf(name);
  if (provider === null) return unknownProvider(name);

  const body = new Uint8Array(await c.req.raw.arrayBuffer());
  const headers = await readHeaders(c.req.raw.headers, body);
  const read = readDelivery(body);
  const trust = await orUnavailable(
    resolveTrust(options, {
      repository: read.repository,
      hookId: c.req.query("hook")?.slice(0, 64) ?? null,
      signature: headers.signature,
      body,
    }),
  );
  if (trust === null) {
    options.counters?.count(401, c.get("sourceIp"));
    noteRejection(c, options, read.repository);
    throw new Refusal("unauthenticated", "invalid_signature", "No secret known here made this signature.");
  }
  if (read.payload === undefined)
    throw new Refusal("validation", "malformed_json", "The body is not valid JSON.");

  const { deliveryId, event, kept } = headers;
  const delivery = { provider, deliveryId, event, headers: kept, body, verdict: trust.by };
  return answer(deliveryId, await orUnavailable(receive(options, delivery, trust, read)));
}

/** A secret that went out of step is told to whom it concerns; the refusal does not wait for that. */
function noteRejection(
  c: Context<EdgeEnv>,
  { log, store, rejections }: EdgeOptions,
  repository: string | null,
) {
  if (repository === null || rejections?.note(repository) !== true) return;
  inBackground(c, log, "refused deliveries were not told", store.inbox.reportRejected(repository));
}

function answer(deliveryId: string, received: Received): Response {
  switch (received.result) {
    case "failed":
      return Response.json({
        success: false,
        error: "The delivery is stored; handling it failed and is tried again.",
      });
    case "duplicate":
      return Response.json({ success: true, deliveryId, status: "duplicate" });
    case "settled":
      return Response.json({ success: true, deliveryId, status: received.status });
  }
}

/** Before the row is committed, a database that does not answer is 503: the git host sends it again. */
async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new Refusal("unavailable", "not_stored", "The delivery could not be stored. Send it again.", {
      cause,
      retryAfterSeconds: 30,
    });
  }
}
