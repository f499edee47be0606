/**
 * POST /api/webhooks/:provider, from the provider on: provider 404 → signature 401 → JSON 400 → store 503 → handler.
 * Rate and size are checked before (router/gates.ts). An answer of 200 means: stored for good.
 */
import type { Context } from "hono";
import { webHmac } from "../../shared/crypto/hmac.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { createOpenedSecrets } from "../adapters/opened-secrets.ts";
import { createRememberedProjects } from "../adapters/remembered-projects.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { inBackground } from "../router/in-background.ts";
import { namedBy } from "./git-push.ts";
import { type Received, receive } from "./inbox.ts";
import { providerOf, unknownProvider } from "./providers.ts";
import { resolveTrust, resolveTrustAnew, type Verified } from "./resolve-secret.ts";
import { readDelivery, readHeaders } from "./signature.ts";

export function receiveDelivery(given: EdgeOptions): (c: Context<EdgeEnv>) => Promise<Response> {
  const opened = createOpenedSecrets(given.sealer, given.hmac ?? webHmac);
  const keyring = { opened, remembered: createRememberedProjects() };
  return async (c) => {
    // Whatever is said about this delivery further down is said under the id of its request.
    const log = given.log.child({ requestId: c.get("requestId") });
    const options = { ...given, log, nudge: heldOpen(c, given) };
    const name = c.get("matched").params["provider"] ?? "";
    const provider = providerOf(name);
    if (provider === null) return unknownProvider(name);

    const body = new Uint8Array(await c.req.raw.arrayBuffer());
    const headers = await readHeaders(c.req.raw.headers, body);
    const { repository, payload } = readDelivery(body);
    const hookId = c.req.query("hook")?.slice(0, 64) ?? null;
    const signed = { repository, hookId, signature: headers.signature, body };
    const { deliveryId, event, kept } = headers;
    const store = async (verified: Verified | null): Promise<Received> => {
      if (verified === null) {
        options.counters?.count(401, c.get("sourceIp"));
        noteRejection(c, options, repository);
        throw new Refusal("unauthenticated", "invalid_signature", whyUnknown(payload));
      }
      if (payload === undefined)
        throw new Refusal("validation", "malformed_json", "The body is not valid JSON.");
      const said = { event, repository, ...namedBy(event, payload) };
      const delivery = { provider, deliveryId, ...said, headers: kept, body, verdict: verified.trust.by };
      return orUnavailable(receive(options, delivery, payload, verified));
    };
    const received = await store(await orUnavailable(resolveTrust(options, keyring, signed)));
    if (received.result !== "changed") return answer(deliveryId, received);
    const anew = await orUnavailable(resolveTrustAnew(options, keyring, signed));
    return answer(deliveryId, await store(anew));
  };
}

/** Git hosts send a form unless they are told otherwise, and a form names no repository whose secrets could be tried. */
function whyUnknown(payload: unknown): string {
  const unknown = "No secret known here made this signature.";
  if (payload !== undefined) return unknown;
  return `${unknown} The body is not JSON: set the webhook's content type to application/json.`;
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
    case "changed":
      throw notStored();
  }
}

/** The answer does not wait for the nudge; a host that ends with the answer (workerd) is asked to stay for it. */
function heldOpen(c: Context<EdgeEnv>, { nudge, log }: EdgeOptions): EdgeOptions["nudge"] {
  return (deployment) => {
    const sent = nudge(deployment);
    const settled = sent.catch(() => undefined);
    inBackground(c, log, "", settled);
    return sent;
  };
}

/** Before the row is committed, a database that does not answer is 503: the git host sends it again. */
async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw notStored(cause);
  }
}

function notStored(cause?: unknown): Refusal {
  return new Refusal("unavailable", "not_stored", "The delivery could not be stored. Send it again.", {
    ...(cause === undefined ? {} : { cause }),
    retryAfterSeconds: 30,
  });
}
