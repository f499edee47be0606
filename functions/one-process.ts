/**
 * All of the platform in one process, on a database that is there already: what `npm start` runs, and what tests, demo
 * and bench run. The modules are the same objects that run as containers of their own; the edge hands identities over
 * as objects. Ends in the order in which nothing is lost: ingress, streams, stories (their leases go back), queue, SSH,
 * database.
 */
import { hostname } from "node:os";
import { createMemoryLimiter } from "../edge/adapters/memory-limiter.ts";
import { createEdge } from "../edge/app.ts";
import type { EdgeOptions } from "../edge/edge-options.ts";
import { serveEdge } from "../edge/node.ts";
import { forwardInProcess } from "../edge/router/forward-in-process.ts";
import { sweepDeliveries } from "../edge/webhooks/inbox.ts";
import { monotonicClock, wallClock } from "../shared/adapters/clocks.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { createNodeHmac } from "../shared/adapters/node-hmac.ts";
import { createPgBossQueue } from "../shared/adapters/pg-boss-queue.ts";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { openListener } from "../shared/adapters/postgres-listen.ts";
import { createMetrics } from "../shared/adapters/prometheus-metrics.ts";
import { webHmac } from "../shared/crypto/hmac.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import type { Database } from "../shared/db/database.ts";
import { organizations } from "../shared/db/identity-tables.ts";
import type { InstanceSecrets } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import { refuseUnsigned } from "../shared/http/identity-header.ts";
import { consumeNudges } from "../shared/operations/consume.ts";
import { createFeed } from "../shared/operations/follow.ts";
import { endLeasesOfTheDead } from "../shared/operations/lease.ts";
import type { LeaseTimes } from "../shared/operations/lease-times.ts";
import { createRunner } from "../shared/operations/runner.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Configuration } from "./configuration.ts";
import { assembleDeploy } from "./deploy-part.ts";
import { measureInstance, observeOperations } from "./instance-metrics.ts";
import { assembleNotify } from "./notify-part.ts";
import { openOutside } from "./outside.ts";
import { createSetUpCode, type SetUpCode } from "./platform/set-up-code.ts";
import { assemblePlatform } from "./platform-part.ts";
import { sweepEvery } from "./sweep-every.ts";

export interface OneProcessOptions {
  configuration: Configuration;
  /** Migrated, and reached directly: LISTEN needs a session. */
  databaseUrl: string;
  /** Nobody else can be at work on this database: what a killed process was doing goes on at once. */
  aloneOnDatabase: boolean;
  secrets: InstanceSecrets;
  version: string;
  log: Log;
  /** Default: those of the limits. */
  lease?: LeaseTimes;
  /** Told when too many wrong tries have made another set-up code. */
  announceSetUpCode?: (code: string) => void;
}

export interface OneProcess {
  /** Where it listens, without a slash at the end. */
  url: string;
  db: Database;
  setUpCode: SetUpCode;
  /** Whether a first organization was made. */
  hasOrganization(): Promise<boolean>;
  close(): Promise<void>;
}

/** Operations at once: builds share the server's cores, not ours, so that more than a handful is no problem here. */
const concurrency = 16;

export async function startInOneProcess(options: OneProcessOptions): Promise<OneProcess> {
  const { configuration, secrets, log, version } = options;
  const stopping = new AbortController();
  const metrics = createMetrics({ log });
  const database = openDatabase({ url: options.databaseUrl, log, max: 20 });
  const { db, rowsByName } = database;
  const listener = openListener({ url: options.databaseUrl, log });
  const outside = openOutside(configuration);
  const { shell } = outside;
  const queue = await createPgBossQueue({ url: options.databaseUrl, log });
  const feed = createFeed({ db, listener, clock: wallClock, log });

  const { webhook, idempotency } = secrets.classes;
  const limiter = createMemoryLimiter();
  const setUpCode = createSetUpCode((code) => options.announceSetUpCode?.(code));
  const context = {
    ...{ configuration, db, listener, feed, shell, outside, log },
    verifyIdentity: refuseUnsigned,
    stopping: stopping.signal,
  };
  const platform = assemblePlatform(context, {
    ...{ rings: secrets.classes, limiter, setUpCode },
    exposeMetrics: metrics.expose,
  });
  const deploy = assembleDeploy(context, { rings: secrets.classes });
  const notify = assembleNotify(context, { rings: secrets.classes, limiter });
  const runner = createRunner({
    db,
    listener,
    kinds: [...deploy.kinds, ...platform.kinds],
    owner: `${hostname()}/${process.pid}`,
    concurrency,
    clock: monotonicClock,
    log,
    ...(options.lease === undefined ? {} : { lease: options.lease }),
    observer: observeOperations(metrics),
  });

  const edgeOptions: EdgeOptions = {
    mode: configuration.mode,
    version,
    // The embedded database has no pooler in front; of others nobody knows.
    store: createPostgresEdgeStore(db, options.aloneOnDatabase ? { rowsByName } : {}),
    forwarder: forwardInProcess({ platform: platform.app, deploy: deploy.app, notify: notify.app }),
    baseUrl: configuration.baseUrl,
    limiter,
    sealer: createSealer({ webhook, idempotency }),
    hmac: createNodeHmac(webHmac),
    nudge: ({ operationId, projectId }) =>
      queue.send("deploy", { operationId }, { group: projectId, dedupe: operationId }),
    trustedProxies: configuration.trustedProxies,
    apiLimitPerMinute: configuration.apiPerMinute,
    instanceWebhookSecret: configuration.gitWebhookSecret ?? null,
    log,
    clock: wallClock,
    metrics,
  };

  if (options.aloneOnDatabase) {
    await endLeasesOfTheDead(db);
    await edgeOptions.store.inbox.endClaimsOfTheDead();
  }
  runner.start();
  deploy.start?.(options.aloneOnDatabase);
  notify.start?.(options.aloneOnDatabase);
  await consumeNudges(queue, "deploy", runner, { concurrency: 4, signal: stopping.signal });
  const sweeps = [
    ...platform.sweeps,
    ...deploy.sweeps,
    ...notify.sweeps,
    {
      everyMs: limits.deliverySweepMs,
      atOnce: true,
      run: () => sweepDeliveries(edgeOptions, stopping.signal),
    },
    { everyMs: limits.expiredSweepMs, run: () => edgeOptions.store.idempotency.purge() },
  ];
  const sweeping = sweeps.map((sweep) => sweepEvery(sweep, log, stopping.signal));
  const served = await serveEdge({
    app: createEdge(edgeOptions),
    host: configuration.host,
    port: configuration.port,
  });
  const stopMeasuring = measureInstance(metrics, {
    ...{ version, mode: configuration.mode, db, clock: monotonicClock },
    pool: database.counts,
    shell: () => shell.counts(),
    streams: served.streams,
    countDead: () => queue.countDead("deploy"),
  });

  return {
    url: served.url,
    db,
    setUpCode,
    async hasOrganization() {
      const rows = await db.select({ id: organizations.id }).from(organizations).limit(1);
      return rows.length > 0;
    },
    async close() {
      stopping.abort();
      stopMeasuring();
      await served.close();
      feed.close();
      await runner.stop();
      await Promise.all([deploy.stop?.(), notify.stop?.()]);
      await Promise.all(sweeping);
      await queue.close();
      await shell.close();
      await listener.close();
      await database.close();
    },
  };
}
