/**
 * The edge in Cloudflare's runtime: the same app as on Node, on the database over HTTP, with the worker's own limiter,
 * queue and log. It is made once an isolate; nothing that belongs to one request is kept for the next.
 */
import type { ExecutionContext } from "@cloudflare/workers-types";
import packageDocument from "../package.json" with { type: "json" };
import { wallClock } from "../shared/adapters/clocks.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { openNeon } from "../shared/adapters/neon-http.ts";
import { createPostgresLimiter } from "../shared/adapters/postgres-limiter.ts";
import { createIdentitySigner } from "../shared/crypto/identity-token.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import { oneByOne } from "../shared/db/in-batches.ts";
import { createConsoleLog } from "./adapters/console-log.ts";
import { createShieldedLimiter } from "./adapters/shielded-limiter.ts";
import { createSqsSender } from "./adapters/sqs-sender.ts";
import { createEdge, type EdgeApp } from "./app.ts";
import { forwardHttp } from "./router/forward-http.ts";
import { readWorkerSettings, type WorkerEnvironment } from "./worker-environment.ts";

const edges = new WeakMap<WorkerEnvironment, Promise<EdgeApp>>();

export default {
  async fetch(request: Request, environment: WorkerEnvironment, context: ExecutionContext) {
    let edge = edges.get(environment);
    if (edge === undefined) {
      edge = openEdge(environment);
      edges.set(environment, edge);
    }
    try {
      // Cloudflare writes this header itself, over whatever the caller sent.
      const remoteAddress = request.headers.get("cf-connecting-ip");
      const app = await edge;
      return await app.fetch(request, remoteAddress === null ? {} : { remoteAddress }, context);
    } catch (error) {
      edges.delete(environment);
      createConsoleLog("error").error({ err: error }, "the worker cannot serve");
      const body = {
        error: "The platform is not set up yet; its log says what is missing.",
        code: "not_ready",
      };
      return Response.json(body, { status: 503, headers: { "retry-after": "60" } });
    }
  },
};

async function openEdge(environment: WorkerEnvironment): Promise<EdgeApp> {
  const settings = readWorkerSettings(environment);
  const { db, together } = openNeon({ url: settings.databaseUrl, endpoint: settings.neonEndpoint });
  const send = createSqsSender(settings.queue);
  return createEdge({
    mode: settings.mode,
    version: packageDocument.version,
    baseUrl: settings.baseUrl,
    store: createPostgresEdgeStore(db, { together, gather: oneByOne }),
    forwarder: forwardHttp({
      origins: settings.origins,
      signer: await createIdentitySigner(settings.identityKey),
      // This fetch keeps nothing of a stream, and knows no `redirect: "error"`.
      streamed: {},
    }),
    limiter: createShieldedLimiter(settings.shield, createPostgresLimiter(db)),
    sealer: createSealer(settings.rings),
    nudge: ({ operationId, projectId }) => send({ operationId }, { group: projectId, dedupe: operationId }),
    // The address is Cloudflare's word; X-Forwarded-For is nobody's.
    trustedProxies: [],
    apiLimitPerMinute: settings.apiPerMinute,
    instanceWebhookSecret: settings.instanceWebhookSecret,
    log: createConsoleLog(settings.logLevel),
    clock: wallClock,
  });
}
