/**
 * One module in a container of its own. It believes the edge's signature and nothing else, and takes up work by lease:
 * any number of replicas share it, and what a killed one held comes to another when its lease runs out. Ends in the order
 * in which nothing is lost: requests, streams, stories (their leases go back), queue, SSH, database.
 */
import { hostname } from "node:os";
import { serveEdge } from "../edge/node.ts";
import { sweepDeliveries } from "../edge/webhooks/inbox.ts";
import { monotonicClock, wallClock } from "../shared/adapters/clocks.ts";
import { protectTask } from "../shared/adapters/ecs-task-protection.ts";
import { createPostgresEdgeStore } from "../shared/adapters/edge-store-postgres.ts";
import { directUrl, openDatabase } from "../shared/adapters/postgres.ts";
import { createPostgresLimiter } from "../shared/adapters/postgres-limiter.ts";
import { openListener } from "../shared/adapters/postgres-listen.ts";
import { createMetrics } from "../shared/adapters/prometheus-metrics.ts";
import { createSqsQueue } from "../shared/adapters/sqs-queue.ts";
import { createIdentityVerifier } from "../shared/crypto/identity-token.ts";
import { limits } from "../shared/domain/limits.ts";
import { readIdentityPublicKeys, readRings } from "../shared/domain/module-secrets.ts";
import { verifyIdentityHeader } from "../shared/http/identity-header.ts";
import { consumeNudges } from "../shared/operations/consume.ts";
import { createFeed } from "../shared/operations/follow.ts";
import { createRunner, type Runner } from "../shared/operations/runner.ts";
import type { ModuleName } from "../shared/ports/forwarder.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Queue } from "../shared/ports/queue.ts";
import type { Configuration } from "./configuration.ts";
import type { ContainerSettings } from "./container-settings.ts";
import { measureInstance, observeOperations } from "./instance-metrics.ts";
import { serveMetrics } from "./metrics-part.ts";
import { openOutside } from "./outside.ts";
import type { AssembledPart, PartContext } from "./part-context.ts";
import { sweepEvery } from "./sweep-every.ts";

export interface StartPart {
  configuration: Configuration;
  settings: ContainerSettings;
  databaseUrl: string;
  version: string;
  log: Log;
  /** Says a line to the person who started it. */
  say: (line: string) => void;
}

export interface RunningPart {
  url: string;
  close(): Promise<void>;
}

const concurrency = 16;
const messagesAtOnce = 4;

export async function startModule(module: ModuleName, options: StartPart): Promise<RunningPart> {
  const { configuration, settings, databaseUrl, version, log } = options;
  const keys = readIdentityPublicKeys(settings.secret);
  const stopping = new AbortController();
  const metrics = createMetrics({ log });
  const database = openDatabase({ url: databaseUrl, log, max: 20 });
  const { db } = database;
  const listener = openListener({ url: directUrl(databaseUrl), log });
  const outside = openOutside(configuration);
  const { shell } = outside;
  const feed = createFeed({ db, listener, clock: wallClock, log });
  const verifyIdentity = verifyIdentityHeader(await createIdentityVerifier({ audience: module, keys }));
  const context = {
    ...{ configuration, db, listener, feed, shell, outside, log, verifyIdentity },
    stopping: stopping.signal,
  };
  const part = await assemble(module, context, options, metrics.expose);
  const runner = createRunner({
    ...{ db, listener, log, concurrency, clock: monotonicClock },
    kinds: part.kinds,
    owner: `${hostname()}/${process.pid}`,
    observer: observeOperations(metrics),
  });
  runner.start();
  part.start?.(false);
  const queue = await consume(runner, options, stopping.signal);
  const sweeping = sweepsOf(module, part, context).map((each) => sweepEvery(each, log, stopping.signal));
  const protecting = protectTask({
    agentUri: configuration.taskAgentUrl,
    isBusy: () => runner.running().length > 0,
    ...{ clock: wallClock, log, signal: stopping.signal },
  });
  const served = await serveEdge({
    app: { fetch: (request) => answer(request, part, () => db.execute("select 1")) },
    host: configuration.host,
    port: configuration.port,
  });
  const stopMeasuring = measureInstance(metrics, {
    ...{ version, mode: configuration.mode, clock: monotonicClock, pool: database.counts },
    ...(module === "platform" ? { db } : {}),
    shell: () => shell.counts(),
    streams: served.streams,
    ...(queue === undefined ? {} : { countDead: () => queue.countDead("deploy") }),
  });
  const metricsServed = await serveMetrics(options, db, metrics);
  return {
    url: served.url,
    async close() {
      stopping.abort();
      stopMeasuring();
      await metricsServed?.close();
      await served.close();
      feed.close();
      await runner.stop();
      await part.stop?.();
      await Promise.all([...sweeping, protecting]);
      await queue?.close();
      await shell.close();
      await listener.close();
      await database.close();
    },
  };
}

/** Loads what this module needs and no other: a container of the cloud has no file of the others. */
async function assemble(
  module: ModuleName,
  context: PartContext,
  { settings: { secret }, say }: StartPart,
  exposeMetrics: () => Promise<string>,
): Promise<AssembledPart> {
  if (module === "deploy") {
    const { assembleDeploy } = await import("./deploy-part.ts");
    return assembleDeploy(context, { rings: readRings("deploy", secret) });
  }
  const limiter = createPostgresLimiter(context.db);
  if (module === "notify") {
    const { assembleNotify } = await import("./notify-part.ts");
    return assembleNotify(context, { rings: readRings("notify", secret), limiter });
  }
  const { assemblePlatform } = await import("./platform-part.ts");
  const { createSetUpCode } = await import("./platform/set-up-code.ts");
  const announce = (code: string) => say(`The set-up code of this instance is ${code}`);
  const setUpCode = createSetUpCode(announce);
  if (context.configuration.mode === "self-hosted") announce(setUpCode.current());
  return assemblePlatform(context, {
    rings: readRings("platform", secret),
    ...{ limiter, setUpCode, exposeMetrics },
  });
}

async function consume(
  runner: Runner,
  { settings, log }: StartPart,
  signal: AbortSignal,
): Promise<Queue | undefined> {
  if (settings.queue === undefined) return undefined;
  const { region, ...deploy } = settings.queue;
  const queue = createSqsQueue({ queues: { deploy }, region, log });
  await consumeNudges(queue, "deploy", runner, { concurrency: messagesAtOnce, signal });
  return queue;
}

/** Deliveries that were left over are taken up by whoever deploys; the edge of the cloud sleeps between requests. */
function sweepsOf(module: ModuleName, part: AssembledPart, { db, log, stopping }: PartContext) {
  if (module !== "deploy") return part.sweeps;
  const store = createPostgresEdgeStore(db);
  const sweepOptions = { store, log, nudge: async () => undefined };
  return [
    ...part.sweeps,
    { everyMs: limits.deliverySweepMs, atOnce: true, run: () => sweepDeliveries(sweepOptions, stopping) },
    { everyMs: limits.expiredSweepMs, run: () => store.idempotency.purge() },
  ];
}

/** Never with an identity of its own: that comes signed, or not at all. */
async function answer(request: Request, part: AssembledPart, ask: () => Promise<unknown>): Promise<Response> {
  if (new URL(request.url).pathname !== "/health") return part.app.fetch(request);
  const late = AbortSignal.timeout(limits.readyMs);
  const tooLate = new Promise<false>((resolve) => {
    late.addEventListener("abort", () => resolve(false), { once: true });
  });
  const well = await Promise.race([
    ask().then(
      () => true,
      () => false,
    ),
    tooLate,
  ]);
  return Response.json(
    { status: well ? "ok" : "the database does not answer" },
    { status: well ? 200 : 503 },
  );
}
