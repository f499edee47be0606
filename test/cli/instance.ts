/** An instance for the CLI to talk to: real edge, real platform, real SSH client, on a database of its own. */
import { createMemoryLimiter } from "../../edge/adapters/memory-limiter.ts";
import { createEdge } from "../../edge/app.ts";
import { serveEdge } from "../../edge/node.ts";
import { forwardInProcess } from "../../edge/router/forward-in-process.ts";
import { measureInstance } from "../../functions/instance-metrics.ts";
import { createNotifications } from "../../functions/notify/compose.ts";
import { createPlatform } from "../../functions/platform/routes.ts";
import { createSetUpCode } from "../../functions/platform/set-up-code.ts";
import { wallClock } from "../../shared/adapters/clocks.ts";
import { createPostgresEdgeStore } from "../../shared/adapters/edge-store-postgres.ts";
import { createGitHostApi } from "../../shared/adapters/git-host-api-http.ts";
import { createGitHost } from "../../shared/adapters/git-host-http.ts";
import { createMetrics } from "../../shared/adapters/prometheus-metrics.ts";
import { createSsh2Shell } from "../../shared/adapters/ssh2-shell.ts";
import { createSealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import { refuseUnsigned } from "../../shared/http/identity-header.ts";
import { createFeed } from "../../shared/operations/follow.ts";
import { openTestDatabase } from "../database.ts";
import { makeSealKey } from "../keys.ts";
import { loopbackOutgoing, testOutgoing } from "../outgoing.ts";
import { silentLog } from "../silent-log.ts";
import { openHome } from "./run-cli.ts";
import { scriptedDeploy } from "./scripted-deploy.ts";

export async function openInstance() {
  const database = await openTestDatabase();
  const { db, listener } = database;
  const log = silentLog;
  const ring = [{ kid: "t", key: makeSealKey() }] as const;
  const shell = createSsh2Shell();
  const feed = createFeed({ db, listener, clock: wallClock, log });
  const deploy = scriptedDeploy();
  const metrics = createMetrics({ log });
  const stopping = new AbortController();
  const platform = createPlatform({
    db,
    log,
    shell,
    feed,
    clock: wallClock,
    sealer: createSealer({
      server: [...ring],
      env: [...ring],
      webhook: [...ring],
      git: [...ring],
      registry: [...ring],
      cloud: [...ring],
    }),
    outgoing: testOutgoing(),
    gitHost: createGitHost(testOutgoing()),
    gitHostApi: createGitHostApi(testOutgoing()),
    baseUrl: "http://slipway.test",
    limiter: createMemoryLimiter(),
    setUpCode: createSetUpCode(() => undefined),
    baseDomain: "localhost",
    fingerprintKey: makeSealKey(),
    verifyIdentity: refuseUnsigned,
    stopping: stopping.signal,
    exposeMetrics: metrics.expose,
  });
  const notifications = createNotifications({
    ...{ db, listener, log, clock: wallClock, smtp: undefined, baseUrl: "http://slipway.test" },
    limiter: createMemoryLimiter(),
    sealer: createSealer({ notify: [...ring] }),
    outgoing: loopbackOutgoing(),
    verifyIdentity: refuseUnsigned,
    stopping: stopping.signal,
  });
  const served = await serveEdge({ app: edge(db, platform, deploy), host: "127.0.0.1", port: 0 });
  const stopMeasuring = measureInstance(metrics, {
    ...{ version: "0.0.0-test", mode: "self-hosted", db, clock: wallClock, streams: served.streams },
    pool: () => ({ total: 0, idle: 0, waiting: 0 }),
    shell: () => shell.counts(),
  });
  const home = await openHome({ DATABASE_URL: database.url });
  return {
    home,
    deploy,
    notifications,
    db,
    url: served.url,
    async close() {
      stopping.abort();
      stopMeasuring();
      await served.close();
      feed.close();
      await shell.close();
      await home.close();
      await database.close();
    },
  };

  function edge(store: Database, ...[platformApp, deployApp]: [typeof platform, typeof deploy]) {
    return createEdge({
      mode: "self-hosted",
      version: "0.0.0-test",
      baseUrl: "http://slipway.test",
      store: createPostgresEdgeStore(store),
      forwarder: forwardInProcess({ platform: platformApp, deploy: deployApp, notify: notifications.app }),
      limiter: createMemoryLimiter(),
      sealer: createSealer({ webhook: [...ring], idempotency: [...ring] }),
      nudge: async () => undefined,
      trustedProxies: [],
      apiLimitPerMinute: 10_000,
      instanceWebhookSecret: null,
      log,
      clock: wallClock,
      metrics,
    });
  }
}
