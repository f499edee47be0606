/** The gates between "who" and "what": permission tag (403), rate (429), size of the body (413), in that order. */

import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import type { Route } from "../../shared/contract/route.ts";
import { receiveWebhook } from "../../shared/contract/webhooks.ts";
import { isId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { LimitAnswer } from "../../shared/ports/limiter.ts";
import { foreseeRoom } from "../adapters/foreseen-room.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { inTime } from "./in-time.ts";
import { limitStream } from "./limit-stream.ts";
import { sourceKey } from "./source-ip.ts";

const minuteMs = 60_000;

export function authorize() {
  return createMiddleware<EdgeEnv>(async (c, next) => {
    requirePermission(c.get("matched").route, c.get("identity"));
    await next();
  });
}

export function requirePermission({ policy }: Route, identity: Identity | null): void {
  const needed = policy.permission;
  if (needed === "session") {
    if (isId("session", identity?.credentialId ?? "")) return;
    throw new Refusal(
      "forbidden",
      "session_needed",
      "This is for a person who is signed in, not for an access token.",
    );
  }
  if (needed !== "public" && needed !== "member" && !identity?.permissions.includes(needed)) {
    throw new Refusal("forbidden", "forbidden", `This needs the permission ${needed}.`);
  }
}

/**
 * Deliveries count by source, everything else by token. A read of a caller with room is forwarded while it is counted:
 * its answer still waits for the count (`forward`), but the caller does not wait for the two one after the other.
 */
export function limitRate(options: EdgeOptions) {
  const { limiter, apiLimitPerMinute, counters, clock } = options;
  const countToken = foreseeRoom(limiter, () => clock.nowMs());
  const ofSource = { limit: limits.webhookPerMinute, windowMs: minuteMs };
  const ofToken = { limit: apiLimitPerMinute, windowMs: minuteMs };
  return createMiddleware<EdgeEnv>(async (c, next) => {
    await takeTry(c, limiter);
    const identity = c.get("identity");
    const isDelivery = c.get("matched").route === receiveWebhook;
    if (!isDelivery && identity === null) return next();
    const { answer, hasRoom } = isDelivery
      ? { answer: limiter.take(`webhook:${sourceKey(c.get("sourceIp"))}`, ofSource), hasRoom: false }
      : countToken(`token:${identity?.credentialId}`, ofToken);
    const counted = answer.then((limited) => {
      c.set("limited", limited);
      if (limited.allowed) return;
      if (isDelivery) counters?.count(429, c.get("sourceIp"));
      throw tooMany(limited, "requests");
    });
    if (hasRoom && isForwardedRead(c)) {
      counted.catch(() => undefined);
      c.set("counted", counted);
    } else await counted;
    await next();
  });
}

/** Without effect, and over when it is answered. */
function isForwardedRead(c: Context<EdgeEnv>): boolean {
  const { policy } = c.get("matched").route;
  return ["GET", "HEAD"].includes(c.req.method) && policy.module !== "edge" && policy.stream !== true;
}

/** Tries of secrets, by route and source; the function counts them by account as well. */
async function takeTry(c: Context<EdgeEnv>, limiter: EdgeOptions["limiter"]): Promise<void> {
  const { route } = c.get("matched");
  if (route.policy.limit !== "tries") return;
  const rule = { limit: limits.signInPerMinute, windowMs: minuteMs };
  const answer = await limiter.take(`tries:${route.path}:${sourceKey(c.get("sourceIp"))}`, rule);
  if (answer.allowed) return;
  c.set("limited", answer);
  throw tooMany(answer, "tries");
}

function tooMany(answer: LimitAnswer, of: string): Refusal {
  return new Refusal("rate_limited", "rate_limited", `At most ${answer.limit} ${of} a minute.`, {
    retryAfterSeconds: seconds(answer),
  });
}

export function rateHeaders(answer: LimitAnswer): Record<string, string> {
  return {
    "ratelimit-limit": String(answer.limit),
    "ratelimit-remaining": String(answer.remaining),
    "ratelimit-reset": String(seconds(answer)),
  };
}

/** Rounded up: who waits that long is not refused again. */
function seconds(answer: LimitAnswer): number {
  return Math.max(1, Math.ceil(answer.resetMs / 1000));
}

export function limitBody(options: EdgeOptions) {
  const refuse = (most: number) => {
    throw new Refusal("too_large", "too_large", `The body must be at most ${most} bytes long.`);
  };
  const json = bodyLimit({ maxSize: limits.jsonBodyBytes, onError: () => refuse(limits.jsonBodyBytes) });
  const delivery = bodyLimit({
    maxSize: limits.webhookBodyBytes,
    onError: (c) => {
      options.counters?.count(413, c.get("sourceIp"));
      return refuse(limits.webhookBodyBytes);
    },
  });
  const streamed = limitStream();
  return createMiddleware<EdgeEnv>((c, next) => {
    const { route } = c.get("matched");
    const isDelivery = route === receiveWebhook;
    if (route.policy.body === "raw" && !isDelivery) return streamed(c, next);
    const length = saidLength(c);
    if (length !== null && length <= (isDelivery ? limits.webhookBodyBytes : limits.jsonBodyBytes))
      return next();
    if (!isDelivery) return json(c, next);
    const readWhole = delivery(c, async () => undefined);
    return inTime(readWhole).then(next);
  });
}

/**
 * null: not said, or said in two ways. The host holds the caller to what he says, and a body whose stream nobody has
 * looked at is read at a fraction of the cost.
 */
function saidLength(c: Context<EdgeEnv>): number | null {
  if (["GET", "HEAD"].includes(c.req.method)) return 0;
  const length = c.req.header("content-length");
  if (length === undefined || !/^\d{1,15}$/.test(length)) return null;
  return c.req.header("transfer-encoding") === undefined ? Number(length) : null;
}
