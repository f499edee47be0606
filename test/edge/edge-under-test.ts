/**
 * The edge on a real database, with functions that only note what reached them (or real ones, where a test gives them).
 * On the host of the run: in this process, or in workerd (`npm test -- --project workerd`), from one definition.
 */
import { randomBytes } from "node:crypto";
import { inject, test } from "vitest";
import { createMemoryLimiter } from "../../edge/adapters/memory-limiter.ts";
import { createEdge } from "../../edge/app.ts";
import type { EdgeOptions } from "../../edge/edge-options.ts";
import { serveEdge } from "../../edge/node.ts";
import { forwardInProcess } from "../../edge/router/forward-in-process.ts";
import { createCounters } from "../../edge/webhooks/counters.ts";
import packageDocument from "../../package.json" with { type: "json" };
import { createPostgresEdgeStore } from "../../shared/adapters/edge-store-postgres.ts";
import { createNodeHmac } from "../../shared/adapters/node-hmac.ts";
import { webHmac } from "../../shared/crypto/hmac.ts";
import { createSealer } from "../../shared/crypto/seal.ts";
import { hashToken, makeToken } from "../../shared/crypto/token.ts";
import type { Database } from "../../shared/db/database.ts";
import { sessions, tokens } from "../../shared/db/identity-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";

import type { Identity } from "../../shared/domain/principal.ts";
import { makeSealKey } from "../keys.ts";
import { manualClock } from "../manual-clock.ts";
import { recordingLog } from "../silent-log.ts";
import "./workerd/global-set-up.ts";
import { ageRateWindows, edgeOnWorkerd } from "./workerd/edge-on-workerd.ts";

export interface Reached {
  module: string;
  request: Request;
  identity: Identity | undefined;
}

const keys = { webhook: makeSealKey(), idempotency: makeSealKey() };
export const testSealer = createSealer({
  webhook: [{ kid: "t", key: keys.webhook }],
  idempotency: [{ kid: "t", key: keys.idempotency }],
});

const workerd = inject("workerd");
export const onNode = workerd === undefined;
/** For what only a host in the test's own process shows: its clock is moved, or its store made to fail. */
export const testOnNode = test.runIf(onNode);

export function edgeUnderTest(db: Database, overrides: Partial<EdgeOptions> = {}) {
  const reached: Reached[] = [];
  const nudged: { operationId: string; projectId: string }[] = [];
  const clock = manualClock(Date.now());
  const log = recordingLog();
  const counters = createCounters(() => clock.nowMs());
  const noting = (module: string) => ({
    fetch: async (request: Request, { identity }: { identity?: Identity }) => {
      reached.push({ module, request, identity });
      return Response.json({ data: module });
    },
  });
  const options: EdgeOptions = {
    mode: "self-hosted",
    version: packageDocument.version,
    baseUrl: "http://edge.test",
    store: createPostgresEdgeStore(db),
    forwarder: forwardInProcess({
      platform: noting("platform"),
      deploy: noting("deploy"),
      notify: noting("notify"),
    }),
    limiter: createMemoryLimiter(() => clock.nowMs()),
    sealer: testSealer,
    hmac: createNodeHmac(webHmac),
    nudge: async (deployment) => void nudged.push(deployment),
    trustedProxies: [],
    apiLimitPerMinute: 1_200,
    instanceWebhookSecret: null,
    counters,
    log,
    clock,
    ...overrides,
  };
  const remote = workerd === undefined ? undefined : edgeOnWorkerd(db, options, keys, workerd);
  const app = remote ?? createEdge(options);
  /** Over the network, on the host itself. */
  const open = async () => {
    if (remote !== undefined) return { ...(await remote.direct()), close: async () => undefined };
    const served = await serveEdge({ app, host: "127.0.0.1", port: 0, closeMs: 1_000 });
    return { url: served.url, headers: {}, close: served.close };
  };
  if (workerd !== undefined) {
    const { advance } = clock;
    clock.advance = async (ms) => {
      await ageRateWindows(db, ms);
      await advance(ms);
    };
  }
  /** As a host would call it. `from` is the address of the peer. */
  const send = async (path: string, init: RequestInit & { token?: string; from?: string } = {}) => {
    const { token, from = "192.0.2.1", ...rest } = init;
    const headers = new Headers(rest.headers);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    return app.fetch(new Request(`http://edge.test${path}`, { ...rest, headers }), { remoteAddress: from });
  };
  return { app, options, open, send, reached, nudged, clock, log, counters };
}

export async function seedToken(
  db: Database,
  owner: { organizationId: string; userId: string },
  extra: Partial<
    Pick<typeof tokens.$inferInsert, "permissions" | "expiresAt" | "revokedAt" | "projectIds" | "serverIds">
  > = {},
) {
  const token = makeToken();
  const id = newId("token");
  await db.insert(tokens).values({ id, ...owner, name: "test", hash: await hashToken(token), ...extra });
  return { id, token };
}

/** A session of the person, as the headers that a browser on the platform's own pages sends. */
export async function seedSession(db: Database, userId: string) {
  const secret = randomBytes(32).toString("base64url");
  const id = newId("session");
  const hash = await hashToken(secret);
  await db.insert(sessions).values({ id, userId, hash, expiresAt: new Date(Date.now() + 60_000) });
  return { id, headers: { cookie: `slipway_session=${secret}`, "sec-fetch-site": "same-origin" } };
}
