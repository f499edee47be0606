/**
 * Idempotency-Key: the same key, caller and request get the first answer again for a day, and what was asked for is
 * done at most once. The claim is a row that is written before the function is asked; the answer is added to it, sealed,
 * since answers carry secrets. A claim that never got its answer (the process died in between) is never run again:
 * whether it took effect is not known here, and the caller is told so. Rejected: taking such a claim over, which would
 * deploy or create twice exactly when things go wrong.
 */
import type { Context } from "hono";
import type { Route } from "../../shared/contract/route.ts";
import { sha256Hex } from "../../shared/crypto/bytes.ts";
import { limits } from "../../shared/domain/limits.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import { answerPlace } from "../../shared/domain/sealed-place.ts";
import type { FirstAnswer, IdempotentRequest } from "../../shared/ports/edge-store.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { unauthenticated } from "./authenticate.ts";
import { requirePermission } from "./gates.ts";

type Serve = (c: Context<EdgeEnv>) => Response | Promise<Response>;

interface KeptAnswer {
  status: number;
  contentType: string;
  body: string;
}

export function answerOnce(options: EdgeOptions, serve: Serve): Serve {
  return async (c) => {
    const key = c.req.header("idempotency-key");
    const identity = c.get("identity");
    if (key === undefined || identity === null || !isCovered(c.get("matched").route)) return serve(c);
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw invalid("header.idempotency-key", "must be 1 to 255 visible ASCII characters");
    }
    const { organizationId, credentialId } = identity;
    const body = await c.req.raw.arrayBuffer();
    const request: IdempotentRequest = {
      organizationId,
      credentialId,
      keyHash: await sha256Hex(key),
      requestHash: await hashRequest(c, organizationId, body),
    };
    const first = await claimOrWait(options, request);
    return first === "claimed" ? run(c, options, serve, request, body) : replay(c, options, request, first);
  };
}

/** Streams resume by themselves, large uploads are repeated as they are, and deliveries have claims of their own. */
function isCovered({ method, policy }: Route): boolean {
  return method !== "get" && policy.module !== "edge" && policy.stream !== true && policy.body !== "raw";
}

async function hashRequest(c: Context<EdgeEnv>, organizationId: string, body: ArrayBuffer): Promise<string> {
  const { search } = new URL(c.req.url);
  const parts = [organizationId, c.req.method, c.get("matched").path, search];
  return sha256Hex(JSON.stringify([...parts, await sha256Hex(new Uint8Array(body))]));
}

/** Answers the claim, or the answer that is there or comes within a few seconds. */
async function claimOrWait(
  { store, clock }: EdgeOptions,
  request: IdempotentRequest,
): Promise<"claimed" | string> {
  const giveUpMs = clock.nowMs() + limits.idempotencyWaitMs;
  for (;;) {
    const found = await store.idempotency.claim(request);
    if (found === "claimed") return found;
    if (found.requestHash !== request.requestHash) throw reused();
    if (found.sealedAnswer !== null) return found.sealedAnswer;
    if (found.ageMs > limits.idempotencyUnderWayMs) throw unknownOutcome();
    if (clock.nowMs() >= giveUpMs) throw underWay();
    await clock.sleep(limits.idempotencyPollMs, new AbortController().signal);
  }
}

/** Goes on when the caller leaves: the one who comes back with the key shall find the answer. */
async function run(
  c: Context<EdgeEnv>,
  options: EdgeOptions,
  serve: Serve,
  request: IdempotentRequest,
  body: ArrayBuffer,
): Promise<Response> {
  const { idempotency } = options.store;
  // Of its own signal, and without the right to cut the line: an answer that breaks off is an error here.
  c.req.raw = new Request(c.req.raw, { body, signal: new AbortController().signal });
  const { cut: _cut, ...env } = c.env ?? {};
  c.env = env;
  const work = (async () => {
    const answer = await serve(c);
    const bytes = await answer.arrayBuffer();
    if (saysNotBegun(answer.status)) await idempotency.release(request);
    else await idempotency.keep(request, await seal(options, request, answer, bytes));
    return new Response(bytes, answer);
  })();
  holdOpen(c, work);
  return work;
}

/** A host that ends with the caller's connection (workerd) is asked to stay for it. */
function holdOpen(c: Context<EdgeEnv>, work: Promise<unknown>): void {
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  try {
    c.executionCtx.waitUntil(settled);
  } catch {
    // Node has no execution context: what was begun goes on there by itself.
  }
}

/** Nothing was done, and the same request may do better in a moment. */
function saysNotBegun(status: number): boolean {
  return [401, 429, 503].includes(status);
}

function seal(
  { sealer }: EdgeOptions,
  request: IdempotentRequest,
  answer: Response,
  bytes: ArrayBuffer,
): Promise<string> {
  const contentType = answer.headers.get("content-type") ?? "application/json";
  const kept: KeptAnswer = { status: answer.status, contentType, body: new TextDecoder().decode(bytes) };
  return sealer.seal("idempotency", answerPlace(request), JSON.stringify(kept));
}

/** The first answer, for a caller who may still ask: whatever was cached about him, the database decides. */
async function replay(
  c: Context<EdgeEnv>,
  { sealer }: EdgeOptions,
  request: IdempotentRequest,
  sealedAnswer: NonNullable<FirstAnswer["sealedAnswer"]>,
): Promise<Response> {
  const present = await c.get("askAgain")();
  if (present === null) throw unauthenticated();
  requirePermission(c.get("matched").route, present);
  const { status, contentType, body } = JSON.parse(
    await sealer.open("idempotency", answerPlace(request), sealedAnswer),
  ) as KeptAnswer;
  return new Response(body, {
    status,
    headers: { "content-type": contentType, "idempotency-replayed": "true" },
  });
}

function reused(): Refusal {
  return new Refusal(
    "conflict",
    "idempotency_key_reused",
    "This Idempotency-Key was used for another request; take a new key for each request.",
  );
}

function underWay(): Refusal {
  return new Refusal(
    "conflict",
    "idempotency_in_progress",
    "The first request with this Idempotency-Key is still under way; ask again in a moment.",
    { retryAfterSeconds: 5 },
  );
}

function unknownOutcome(): Refusal {
  return new Refusal(
    "conflict",
    "idempotency_outcome_unknown",
    "The first request with this Idempotency-Key was cut off. See whether it took effect; if not, take a new key.",
  );
}
