/** What the edge is made of, and what one request carries through it. Both hosts fill in the same form. */
import type { Sealer } from "../shared/crypto/seal.ts";
import type { Identity } from "../shared/domain/principal.ts";
import type { Clock } from "../shared/ports/clock.ts";
import type { EdgeStore } from "../shared/ports/edge-store.ts";
import type { Forwarder } from "../shared/ports/forwarder.ts";
import type { PrepareHmac } from "../shared/ports/hmac.ts";
import type { LimitAnswer, Limiter } from "../shared/ports/limiter.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Metrics } from "../shared/ports/metrics.ts";
import type { StreamedBody } from "./router/limit-stream.ts";
import type { MatchedRoute } from "./router/match-route.ts";
import type { Counters } from "./webhooks/counters.ts";
import type { Rejections } from "./webhooks/rejections.ts";

export interface EdgeOptions {
  mode: "self-hosted" | "cloud";
  version: string;
  /** Where people reach the platform: cookies and the guard against other sites go by it. */
  baseUrl: string;
  store: EdgeStore;
  forwarder: Forwarder;
  limiter: Limiter;
  /** Holds the rings `webhook` and `idempotency`, and no other. */
  sealer: Sealer;
  /** Checks the signatures of deliveries. Absent: WebCrypto, which both hosts have. */
  hmac?: PrepareHmac;
  /** Wakes the deploy function for a deployment that is committed already; losing a nudge loses nothing. */
  nudge: (deployment: { operationId: string; projectId: string }) => Promise<void>;
  /** Addresses and networks (CIDR) whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  apiLimitPerMinute: number;
  /** GIT_WEBHOOK_SECRET; null: deliveries need a project's own secret. */
  instanceWebhookSecret: string | null;
  log: Log;
  clock: Clock;
  /** Refused deliveries by minute and source; for the inbox page. */
  counters?: Counters;
  /** Refused signatures by repository; made by the edge itself where none is given. */
  rejections?: Rejections;
  /** Requests by route and status, refused deliveries by status. Absent: nothing is counted. */
  metrics?: Metrics;
}

export interface EdgeEnv {
  Bindings: {
    /** The other end of the connection, as the host sees it: never a header that anyone could write. */
    remoteAddress?: string;
    /** Ends the connection without another byte, where the host can: an answer that broke off must look like it. */
    cut?: () => void;
  };
  Variables: {
    requestId: string;
    sourceIp: string;
    matched: MatchedRoute;
    /** null on public routes. */
    identity: Identity | null;
    limited: LimitAnswer;
    /** Of a read that is forwarded while it is counted: rejects when it was one too many. */
    counted: Promise<void> | undefined;
    /** The body of a route that takes it unread. */
    streamed: StreamedBody | undefined;
    /** For Set-Cookie, unless the answer brings one of its own. */
    cookie: string;
    /** The caller as the database sees it now, past every cache; null when the credential does not hold any more. */
    askAgain: () => Promise<Identity | null>;
  };
}
