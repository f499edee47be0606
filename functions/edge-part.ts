/** The edge on Node in a container of its own: modules are reached over HTTP, counts are the database's. */
import { createEdge } from "../edge/app.ts";
import { serveEdge } from "../edge/node.ts";
import { forwardHttp } from "../edge/router/forward-http.ts";
import { monotonicClock, wallClock } from "../shared/adapters/clocks.ts";
import { openEd25519 } from "../shared/adapters/ed25519-node.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { keepConnections } from "../shared/adapters/kept-connections.ts";
import { createNodeHmac } from "../shared/adapters/node-hmac.ts";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { createPostgresLimiter } from "../shared/adapters/postgres-limiter.ts";
import { createMetrics } from "../shared/adapters/prometheus-metrics.ts";
import { webHmac } from "../shared/crypto/hmac.ts";
import { createIdentitySigner } from "../shared/crypto/identity-token.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import { readIdentityKey, readRings } from "../shared/domain/module-secrets.ts";
import type { ModuleName } from "../shared/ports/forwarder.ts";
import { measureInstance } from "./instance-metrics.ts";
import { serveMetrics } from "./metrics-part.ts";
import type { RunningPart, StartPart } from "./module-part.ts";

export async function startEdge(
  options: StartPart,
  origins: Record<ModuleName, string>,
): Promise<RunningPart> {
  const { configuration, settings, databaseUrl, version, log } = options;
  const key = readIdentityKey(settings.secret);
  const rings = readRings("edge", settings.secret);
  const signer = await createIdentitySigner(key, { sign: openEd25519(key) });
  const functions = keepConnections();
  const database = openDatabase({ url: databaseUrl, log, max: 20 });
  const metrics = createMetrics({ log });
  const app = createEdge({
    mode: configuration.mode,
    version,
    baseUrl: configuration.baseUrl,
    store: createPostgresEdgeStore(database.db),
    forwarder: forwardHttp({ origins, signer, send: functions.send }),
    limiter: createPostgresLimiter(database.db),
    sealer: createSealer(rings),
    hmac: createNodeHmac(webHmac),
    // The commit itself tells the deploy module over LISTEN; no broker is between them here.
    nudge: async () => undefined,
    trustedProxies: configuration.trustedProxies,
    apiLimitPerMinute: configuration.apiPerMinute,
    instanceWebhookSecret: configuration.gitWebhookSecret ?? null,
    log,
    clock: wallClock,
    metrics,
  });
  const served = await serveEdge({ app, host: configuration.host, port: configuration.port });
  const stopMeasuring = measureInstance(metrics, {
    ...{ version, mode: configuration.mode, clock: monotonicClock },
    ...{ pool: database.counts, streams: served.streams },
  });
  const metricsServed = await serveMetrics(options, database.db, metrics);
  return {
    url: served.url,
    async close() {
      stopMeasuring();
      await metricsServed?.close();
      await served.close();
      functions.close();
      await database.close();
    },
  };
}
