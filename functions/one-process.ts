/**
 * All of the platform in one process, on a database that is there already: what `npm start` runs, and what tests, demo
 * and bench run. The modules are the same objects that run as containers of their own; the edge hands identities over
 * as objects. Ends in the order in which nothing is lost: ingress, streams, stories (their leases go back), queue, SSH,
 * database.
 */
import { createHmac } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { createMemoryLimiter } from "../edge/adapters/memory-limiter.ts";
import { createEdge } from "../edge/app.ts";
import type { EdgeOptions } from "../edge/edge-options.ts";
import { serveEdge } from "../edge/node.ts";
import { forwardInProcess } from "../edge/router/forward-in-process.ts";
import { sweepDeliveries } from "../edge/webhooks/inbox.ts";
import { monotonicClock, wallClock } from "../shared/adapters/clocks.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { createFileBlobStore } from "../shared/adapters/file-blob-store.ts";
import { createGitHost } from "../shared/adapters/git-host-http.ts";
import { createOutgoing } from "../shared/adapters/outgoing-http.ts";
import { createPgBossQueue } from "../shared/adapters/pg-boss-queue.ts";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { openListener } from "../shared/adapters/postgres-listen.ts";
import { createMetrics } from "../shared/adapters/prometheus-metrics.ts";
import { createSsh2Shell } from "../shared/adapters/ssh2-shell.ts";
import { createTargetGuard, openGuardedSocket } from "../shared/adapters/target-guard.ts";
import { createFrameworkCatalogue } from "../shared/adapters/vercel-frameworks.ts";
import { createSealer } from "../shared/crypto/seal.ts";
import type { Database } from "../shared/db/database.ts";
import { organizations } from "../shared/db/schema.ts";
import type { InstanceSecrets } from "../shared/domain/instance-secrets.ts";
import { limits } from "../shared/domain/limits.ts";
import { refuseUnsigned } from "../shared/http/identity-header.ts";
import { createFeed } from "../shared/operations/follow.ts";
import { endLeasesOfTheDead } from "../shared/operations/lease.ts";
import { createRunner } from "../shared/operations/runner.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Configuration } from "./configuration.ts";
import { createCleanUpKind } from "./deploy/clean-up-kind.ts";
import { createDeploymentKind } from "./deploy/deployment-kind.ts";
import { createDeploy } from "./deploy/routes.ts";
import { sweepUploads } from "./deploy/uploads/sweep.ts";
import { measureInstance, observeOperations } from "./instance-metrics.ts";
import { createNotifications } from "./notify/compose.ts";
import { createBootstrapKind } from "./platform/bootstrap/kind.ts";
import { forgetExpired } from "./platform/forget-expired.ts";
import { monitorServers } from "./platform/monitor-servers.ts";
import { createPlatform } from "./platform/routes.ts";
import { createSetUpCode, type SetUpCode } from "./platform/set-up-code.ts";

export interface OneProcessOptions {
  configuration: Configuration;
  /** Migrated, and reached directly: LISTEN needs a session. */
  databaseUrl: string;
  /** Nobody else can be at work on this database: what a killed process was doing goes on at once. */
  aloneOnDatabase: boolean;
  secrets: InstanceSecrets;
  version: string;
  log: Log;
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
  const { db } = database;
  const listener = openListener({ url: options.databaseUrl, log });
  const { resolvers, allowPrivateTargets: exceptions } = configuration;
  const guardTargets = (guarded: boolean) => createTargetGuard({ guarded, resolvers, exceptions });
  // What self-hosters reach in their own network is theirs to say; in the cloud it is the operator's network.
  const isCloud = configuration.mode === "cloud";
  const operated = guardTargets(isCloud);
  const shell = createSsh2Shell(isCloud ? { openSocket: openGuardedSocket(operated) } : {});
  const queue = await createPgBossQueue({ url: options.databaseUrl, log });
  const feed = createFeed({ db, listener, clock: wallClock, log });

  const { server, env, webhook, git, idempotency, notify } = secrets.classes;
  const { baseUrl, baseDomain, acmeDirectory } = configuration;
  const proxy = { shell, baseDomain, acmeDirectory, sealer: createSealer({ server, env, git }), db };
  const uploads = createFileBlobStore(join(configuration.dataFolder, "uploads"));
  const deploymentKind = createDeploymentKind({
    ...proxy,
    clock: wallClock,
    log,
    frameworks: createFrameworkCatalogue(),
    uploads,
  });
  const cleanUpKind = createCleanUpKind({ ...proxy, clock: wallClock, log });
  const bootstrapKind = createBootstrapKind({ ...proxy, log, clock: wallClock });
  const runner = createRunner({
    db,
    listener,
    kinds: [deploymentKind, cleanUpKind, bootstrapKind],
    owner: `${hostname()}/${process.pid}`,
    concurrency,
    clock: monotonicClock,
    log,
    observer: observeOperations(metrics),
  });

  const limiter = createMemoryLimiter();
  const notifications = createNotifications({
    ...{ db, listener, log, limiter, baseUrl, smtp: configuration.smtp },
    clock: wallClock,
    sealer: createSealer({ notify }),
    outgoing: createOutgoing(guardTargets(true)),
    verifyIdentity: refuseUnsigned,
    stopping: stopping.signal,
  });
  const setUpCode = createSetUpCode((code) => options.announceSetUpCode?.(code));
  const apps = {
    platform: createPlatform({
      ...proxy,
      sealer: createSealer({ server, env, webhook, git }),
      gitHost: createGitHost(createOutgoing(operated)),
      log,
      clock: wallClock,
      baseUrl,
      limiter,
      setUpCode,
      fingerprintKey: fingerprintKey(secrets),
      verifyIdentity: refuseUnsigned,
      feed,
      stopping: stopping.signal,
      exposeMetrics: metrics.expose,
    }),
    deploy: createDeploy({
      db,
      sealer: proxy.sealer,
      log,
      clock: wallClock,
      kind: deploymentKind,
      uploads,
      mode: configuration.mode,
      verifyIdentity: refuseUnsigned,
      feed,
      stopping: stopping.signal,
    }),
    notify: notifications.app,
  };
  const edgeOptions: EdgeOptions = {
    mode: configuration.mode,
    version,
    store: createPostgresEdgeStore(db),
    forwarder: forwardInProcess(apps),
    baseUrl,
    limiter,
    sealer: createSealer({ webhook, idempotency }),
    nudge: ({ operationId, projectId }) =>
      queue.send("deploy", { operationId }, { group: projectId, dedupe: operationId }),
    trustedProxies: configuration.trustedProxies,
    apiLimitPerMinute: configuration.apiPerMinute,
    instanceWebhookSecret: configuration.gitWebhookSecret ?? null,
    log,
    clock: wallClock,
    metrics,
  };

  if (options.aloneOnDatabase) await endLeasesOfTheDead(db);
  runner.start();
  notifications.start(options.aloneOnDatabase);
  await queue.consume(
    "deploy",
    async ({ operationId }) => {
      await runner.handle(operationId);
    },
    { concurrency: 4, signal: stopping.signal },
  );
  const sweeping = sweepEvery(
    limits.deliverySweepMs,
    () => sweepDeliveries(edgeOptions),
    log,
    stopping.signal,
  );
  const forgetting = sweepEvery(
    limits.expiredSweepMs,
    () => Promise.all([forgetExpired(db), edgeOptions.store.idempotency.purge(), notifications.forget()]),
    log,
    stopping.signal,
  );
  const sweepingUploads = sweepEvery(
    limits.uploadSweepMs,
    () => sweepUploads({ db, clock: wallClock, uploads }),
    log,
    stopping.signal,
  );
  const monitoring = sweepEvery(
    limits.monitorMs,
    () => monitorServers({ ...proxy, clock: wallClock, log }),
    log,
    stopping.signal,
  );
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
      await notifications.stop();
      await monitoring;
      await sweeping;
      await sweepingUploads;
      await forgetting;
      await queue.close();
      await shell.close();
      await listener.close();
      await database.close();
    },
  };
}

async function sweepEvery(
  ms: number,
  sweep: () => Promise<unknown>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await wallClock.sleep(ms, signal);
      await sweep();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "a sweep failed; the next one tries again");
    }
  }
}

/** A key of its own for fingerprints, so that one key never serves two purposes. */
function fingerprintKey(secrets: InstanceSecrets): string {
  const oldest = secrets.classes.env.at(-1) ?? secrets.classes.env[0];
  return createHmac("sha256", Buffer.from(oldest.key, "base64"))
    .update("fingerprints of env values")
    .digest("base64");
}
