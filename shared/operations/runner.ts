/**
 * Starts the operations of its kinds, as many at once as it may. It hears of them by NOTIFY, by messages of the queue
 * and by a sweep every 5 s: all three are hints, the claim decides. So nothing is ever stuck and nothing runs twice.
 * Rejected: working inside the handler of a message (an hour of build is no time to keep a message invisible).
 */
import { sql } from "drizzle-orm";
import type { Database, Listener } from "../db/database.ts";
import { limits } from "../domain/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { channels } from "./channels.ts";
import { isDatabaseAway } from "./database-away.ts";
import type { AnyOperationKind } from "./definition.ts";
import { endGivenUp, noteGivenUp } from "./given-up.ts";
import { claim } from "./lease.ts";
import { defaultLeaseTimes, type LeaseTimes } from "./lease-times.ts";
import { type OperationObserver, type RunningOperation, runOperation } from "./run-operation.ts";
import { checkKind } from "./state-table.ts";
import { rowsOf } from "./statements.ts";

export interface RunnerOptions {
  db: Database;
  listener: Listener;
  kinds: readonly AnyOperationKind[];
  /** Of this process, for people who look at the row: host and pid. */
  owner: string;
  /** Operations at once. */
  concurrency: number;
  /** `nowMs` should be monotonic: it is only ever compared with itself. */
  clock: Clock;
  log: Log;
  /** Default: those of the limits. */
  lease?: LeaseTimes;
  /** Counted for metrics. */
  observer?: OperationObserver;
}

export type HandleAnswer =
  | "started" // it, or the newer one that supersedes it
  | "gone" // absent, final or superseded
  | "foreign" // no kind of this runner
  | "busy" // someone works on it, or its turn has not come; it will be nudged again
  | "full" // no room here; looked at again as soon as there is
  | "stopping";

export interface Runner {
  /** Begins to listen and to sweep. */
  start(): void;
  /** What a queue message means: resolves as soon as the lease is taken. The work goes on behind it. */
  handle(operationId: string): Promise<HandleAnswer>;
  /**
   * What it means that the queue gave up the message: the operation's log says so, it is tried once more without it, and
   * ends as failed where that cannot be either. Throws where the database is away: then a sweep goes on.
   */
  givenUp(operationId: string, error: unknown): Promise<void>;
  /** Finds what is due and has no owner, and handles it. */
  sweep(): Promise<void>;
  /** Ids of what runs here. */
  running(): string[];
  /** Resolves when nothing runs here. */
  idle(): Promise<void>;
  /** Starts nothing any more, tells every story to stop and gives their leases back. Work on servers goes on. */
  stop(): Promise<void>;
}

export function createRunner(options: RunnerOptions): Runner {
  options.kinds.forEach(checkKind);
  const { db, clock, log, owner, concurrency, lease: times = defaultLeaseTimes } = options;
  const kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
  const running = new Map<RunningOperation, Promise<void>>();
  const claiming = new Set<Promise<unknown>>();
  const stopping = new AbortController();

  const hasRoom = () => running.size + claiming.size < concurrency;

  const handle = async (id: string): Promise<HandleAnswer> => {
    if (stopping.signal.aborted) {
      return "stopping";
    }
    if (!hasRoom()) {
      // What waits in vain is settled all the same.
      const { why } = await claim(db, { kinds, id, owner, leaseMs: null });
      return why === "busy" ? "full" : why;
    }
    const starting = claimAndRun(id);
    claiming.add(starting);
    return await starting.finally(() => claiming.delete(starting));
  };

  const claimAndRun = async (id: string): Promise<HandleAnswer> => {
    const sentAtMs = clock.nowMs();
    const { claimed, why } = await claim(db, { kinds, id, owner, leaseMs: times.leaseMs });
    const kind = kinds.get(claimed?.kind ?? "");
    if (claimed === null || kind === undefined) {
      return why;
    }
    keep(runOperation({ db, clock, log, kind, claimed, times, sentAtMs, observer: options.observer }));
    return "started";
  };

  const givenUp = async (id: string, error: unknown) => {
    if (!(await noteGivenUp(db, id, error))) return;
    try {
      await handle(id);
    } catch (again) {
      if (isDatabaseAway(again, "database")) throw again;
      log.error({ error: again, operationId: id }, "an operation that nobody can start ends as failed");
      await endGivenUp(db, kinds, id);
    }
  };

  const keep = (operation: RunningOperation) => {
    const ended = operation.ended.then(() => {
      running.delete(operation);
      soon();
    });
    running.set(operation, ended);
    if (stopping.signal.aborted) {
      operation.handOver();
    }
  };

  const sweep = async () => {
    for (const id of await findDue(db, [...kinds.keys()])) {
      if (!hasRoom() || stopping.signal.aborted) {
        return;
      }
      // One that cannot be claimed must not keep those behind it waiting.
      await handle(id).catch((error: unknown) => log.error({ error, operationId: id }, "a claim failed"));
    }
  };

  const idle = async () => {
    while (running.size > 0 || claiming.size > 0) {
      await Promise.allSettled([...running.values(), ...claiming]);
    }
  };

  const inBackground = (what: string, work: () => Promise<unknown>) => {
    work().catch((error: unknown) => {
      if (!stopping.signal.aborted) {
        log.warn({ error }, `${what} failed; the next sweep tries again`);
      }
    });
  };

  const soon = () => {
    if (!stopping.signal.aborted) {
      inBackground("looking for the next operation", sweep);
    }
  };

  const sweepForEver = async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(limits.sweepMs, stopping.signal);
      await sweep().catch((error: unknown) => log.warn({ error }, "a sweep failed"));
    }
  };

  const cancel = (id: string | null) => {
    for (const operation of running.keys()) {
      if (operation.id === id) {
        operation.cancel();
      }
    }
  };

  return {
    handle,
    givenUp,
    sweep,
    running: () => [...running.keys()].map((operation) => operation.id),
    start: () => {
      const onDue = (id: string | null) =>
        id === null ? soon() : inBackground("starting an operation", () => handle(id));
      options.listener.listen(channels.due, onDue, stopping.signal);
      options.listener.listen(channels.cancels, cancel, stopping.signal);
      soon();
      inBackground("sweeping", sweepForEver);
    },
    idle,
    stop: async () => {
      stopping.abort();
      for (const operation of running.keys()) {
        operation.handOver();
      }
      const late = new AbortController();
      const deadline = clock.sleep(limits.storyStopMs, late.signal).catch(() => undefined);
      await Promise.race([idle(), deadline]);
      late.abort();
      for (const { id } of running.keys()) {
        log.warn({ operationId: id }, "a story did not stop in time; its lease runs out by itself");
      }
    },
  };
}

/** Without a live lease, due, and not behind another of the same subject. */
async function findDue(db: Database, kinds: string[]): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`
      select id from operations as mine
      where not final and kind = any(${sql.param(kinds)}::text[])
        and (lease_until is null or lease_until <= clock_timestamp())
        and (run_after is null or run_after <= clock_timestamp())
        and (in_flight or not exists (
          select from operations as other where other.subject_id = mine.subject_id and other.in_flight))
      order by in_flight desc, created_at, id limit 100`,
  );
  return rows.map((row) => row.id);
}
