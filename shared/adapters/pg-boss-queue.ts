/**
 * The queue where there is no broker: pg-boss in a schema of its own, `key_strict_fifo` for the order within a group.
 * A message sent in this process wakes its consumers at once; polling is for messages from elsewhere and for retries.
 * Dead letters are kept in `<queue>_dead` for 14 days. Rejected: pg-boss's own LISTEN (a third connection, and the
 * runners listen already), and its `failed` state, which would hold up the group for ever.
 */
import { type JobWithMetadata, PgBoss } from "pg-boss";
import type { Log } from "../ports/log.ts";
import type { ConsumeOptions, Queue, QueueMessage, QueueName } from "../ports/queue.ts";

export interface PgBossQueueOptions {
  url: string;
  log: Log;
  /** For messages of other processes and for retries. Default 2; 0.5 at least. */
  pollSeconds?: number;
  /** Before the second attempt; doubled for each further one. Default 1; 0 means at the next poll. */
  retrySeconds?: number;
}

type Handler = Parameters<Queue["consume"]>[1];

const attemptsMost = 5;
const retryMostSeconds = 60;
/** A consumer that died is noticed after this time; its message comes again. */
const heartbeatSeconds = 30;
const handleMostSeconds = 3_600;
const keepDoneSeconds = 3_600;
const keepDeadSeconds = 14 * 86_400;
const unblockMs = 60_000;
const stopMs = 10_000;

/** Makes the schema and the queues where they are missing. */
export async function createPgBossQueue(options: PgBossQueueOptions): Promise<Queue> {
  const { log } = options;
  const boss = new PgBoss({ connectionString: options.url, schema: "pgboss", max: 3, schedule: false });
  boss.on("error", (error) => log.warn({ error }, "the queue has a problem with its database"));
  await boss.start();
  const ready = new Map<QueueName, Promise<void>>();
  const consuming = new Set<Promise<void>>();
  const closing = new AbortController();
  const prepared = (queue: QueueName): Promise<void> => {
    const known = ready.get(queue) ?? prepare(boss, queue, options.retrySeconds ?? 1);
    ready.set(queue, known);
    known.catch(() => ready.delete(queue));
    return known;
  };
  return {
    async send(queue, message, { group, delaySeconds = 0 }) {
      await prepared(queue);
      await boss.send(queue, message, {
        singletonKey: group,
        ...(delaySeconds > 0 ? { startAfter: delaySeconds } : {}),
      });
      wake(boss, queue);
    },
    async consume(queue, handler, consume) {
      await prepared(queue);
      const signal = AbortSignal.any([consume.signal, closing.signal]);
      if (signal.aborted) return;
      const pollSeconds = options.pollSeconds ?? 2;
      const { ended } = await work({ boss, queue, handler, log, pollSeconds, ...consume, signal });
      consuming.add(ended);
      ended.finally(() => consuming.delete(ended));
    },
    async countDead(queue) {
      await prepared(queue);
      // Kept for a minute by pg-boss; without `force` for an hour.
      return (await boss.getQueueStats(deadQueue(queue), { force: true })).at(0)?.queuedCount ?? 0;
    },
    async close() {
      closing.abort();
      await within(Promise.all(consuming), stopMs);
      await boss.stop({ graceful: true, close: true, timeout: stopMs });
    },
  };
}

async function prepare(boss: PgBoss, queue: QueueName, retrySeconds: number): Promise<void> {
  const dead = deadQueue(queue);
  await boss.createQueue(dead, { retentionSeconds: keepDeadSeconds });
  await boss.createQueue(queue, {
    policy: "key_strict_fifo",
    deadLetter: dead,
    retryLimit: attemptsMost - 1,
    retryDelay: retrySeconds,
    ...(retrySeconds > 0 ? { retryBackoff: true, retryDelayMax: retryMostSeconds } : {}),
    heartbeatSeconds,
    expireInSeconds: handleMostSeconds,
    deleteAfterSeconds: keepDoneSeconds,
  });
}

interface Work extends ConsumeOptions {
  boss: PgBoss;
  queue: QueueName;
  handler: Handler;
  log: Log;
  pollSeconds: number;
}

/** Resolves when it listens, with a promise of its end. */
async function work({ boss, queue, handler, log, pollSeconds, concurrency, signal, givenUp }: Work) {
  const how = {
    batchSize: 1,
    includeMetadata: true as const,
    localConcurrency: concurrency,
    pollingIntervalSeconds: pollSeconds,
  };
  const id = await boss.work<QueueMessage, void, typeof how>(queue, how, async ([job]) => {
    if (job === undefined) return;
    try {
      await handler(job.data, {
        attempt: job.retryCount + 1,
        signal: AbortSignal.any([signal, job.signal]),
      });
    } catch (error) {
      log.warn({ error, queue, attempt: job.retryCount + 1, ...job.data }, "handling a message failed");
      if (job.retryCount < attemptsMost - 1) throw error;
      await givenUp?.(job.data, error).catch((failure: unknown) =>
        log.error({ error: failure, ...job.data }, "nobody was told of a given-up message"),
      );
      await bury(boss, queue, job, error);
    } finally {
      // The next of the group can go as soon as this one is settled: nobody waits for a poll then.
      wake(boss, queue);
    }
  });
  const unblocking = setInterval(() => unblock(boss, queue, log), unblockMs);
  const ended = aborted(signal)
    .then(() => boss.offWork(queue, { id, wait: true }))
    .catch((error: unknown) => log.warn({ error, queue }, "ending a consumer failed"))
    .finally(() => clearInterval(unblocking));
  return { ended };
}

/** Given up: kept aside with its reason, and done with here so that the group goes on. */
async function bury(
  boss: PgBoss,
  queue: QueueName,
  job: JobWithMetadata<QueueMessage>,
  error: unknown,
): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error);
  await boss.send(deadQueue(queue), { ...job.data, group: job.singletonKey, reason });
}

/** Messages whose consumers died five times are buried by pg-boss itself; what it leaves behind holds up their group. */
function unblock(boss: PgBoss, queue: QueueName, log: Log): void {
  const work = async () => {
    if ((await boss.getBlockedKeys(queue)).length > 0) {
      await boss.deleteStoredJobs(queue);
      wake(boss, queue);
    }
  };
  work().catch((error: unknown) => log.warn({ error, queue }, "looking for held up groups failed"));
}

function wake(boss: PgBoss, queue: QueueName): void {
  for (const worker of boss.getWipData()) {
    if (worker.name === queue) boss.notifyWorker(worker.id);
  }
}

function deadQueue(queue: QueueName): string {
  return `${queue}_dead`;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function within(done: Promise<unknown>, deadlineMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, deadlineMs);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}
