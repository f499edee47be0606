/** What the tests of the mechanism share: a database, runners on it, and stories that wait for the test. */
import { eq, sql } from "drizzle-orm";
import { operationEvents, operations } from "../../../shared/db/operation-tables.ts";
import { createFeed, type Feed } from "../../../shared/operations/follow.ts";
import { createRunner, type Runner, type RunnerOptions } from "../../../shared/operations/runner.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../../database.ts";
import { type ManualClock, manualClock } from "../../manual-clock.ts";
import { silentLog } from "../../silent-log.ts";
import { createDemo } from "./demo-kind.ts";

export interface Stage extends TestDatabase {
  organizationId: string;
  feed: Feed;
  clock: ManualClock;
  runner(options: Pick<RunnerOptions, "kinds"> & Partial<RunnerOptions>): Runner;
  create(more?: Parameters<typeof createDemo>[2]): Promise<string>;
  row(id: string): Promise<typeof operations.$inferSelect>;
  /** `type` and `data` of every event, and a failure where the seqs have a gap. */
  events(id: string): Promise<[string, Record<string, unknown>][]>;
  /** What a SIGSTOP longer than the lease looks like to everybody else. */
  expireLease(id: string): Promise<void>;
  /** Resolves when the operation is over. */
  over(id: string): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const database = await openTestDatabase();
  const { db, listener } = database;
  const { organizationId } = await seedOrganization(db);
  const clock = manualClock();
  const feed = createFeed({ db, listener, clock: manualClock(), log: silentLog });
  const runners: Runner[] = [];
  return {
    ...database,
    organizationId,
    feed,
    clock,
    runner: (options) => {
      const runner = createRunner({
        db,
        listener,
        clock,
        log: silentLog,
        owner: `runner-${runners.length}`,
        concurrency: 8,
        ...options,
      });
      runners.push(runner);
      return runner;
    },
    create: (more) => createDemo(db, organizationId, more),
    row: async (id) => {
      const [row] = await db.select().from(operations).where(eq(operations.id, id));
      if (row === undefined) {
        throw new Error("no such operation");
      }
      return row;
    },
    events: async (id) => {
      const rows = await db
        .select()
        .from(operationEvents)
        .where(eq(operationEvents.operationId, id))
        .orderBy(operationEvents.seq);
      const gap = rows.find((row, index) => row.seq !== index + 1);
      if (gap !== undefined) {
        throw new Error(`a gap before ${gap.seq}`);
      }
      return rows.map(({ type, data }) => [type, data]);
    },
    expireLease: async (id) => {
      await db
        .update(operations)
        .set({ leaseUntil: sql`clock_timestamp() - interval '1 millisecond'` })
        .where(eq(operations.id, id));
    },
    over: async (id) => {
      if (!(await feed.settled(id, AbortSignal.timeout(50_000)))) {
        throw new Error("the operation did not end");
      }
    },
    close: async () => {
      feed.close();
      await Promise.all(runners.map((runner) => runner.stop()));
      await database.close();
    },
  };
}

/** A clock on which pauses between tries to undo take no time, and nothing else ever comes. */
export function clockOfPauses(): Clock & { pausesMs: number[] } {
  const pausesMs: number[] = [];
  return {
    pausesMs,
    nowMs: () => 0,
    sleep: (ms, signal) => {
      if ([1_000, 2_000, 4_000, 8_000, 16_000].includes(ms)) {
        pausesMs.push(ms);
        return Promise.resolve();
      }
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    },
  };
}

/** A place in a story where it waits until the test lets it go on, or its signal aborts. */
export function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass: async (signal?: AbortSignal) => {
      reached.resolve();
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (signal?.aborted) {
          reject(signal.reason);
        }
      });
      await (signal === undefined ? opened.promise : Promise.race([opened.promise, aborted]));
    },
  };
}
