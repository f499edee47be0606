/**
 * Following the log of an operation: everything from `since` on, then whatever comes, until `complete`. NOTIFY says
 * when to look; a question a second for all followed operations together finds what a notification has missed.
 * Rejected: a query for each follower and line (500 open pages would be 500 queries a line).
 */
import { sql } from "drizzle-orm";
import type { Database, Listener } from "../db/database.ts";
import { limits } from "../domain/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { channels } from "./channels.ts";
import type { StoredEvent } from "./definition.ts";
import { readEvents } from "./event-log.ts";
import { rowsOf } from "./statements.ts";
import { openTail, type Tail } from "./tail.ts";

export interface Feed {
  /**
   * Pages of events with a seq above `since`, in order, without gap or repetition; ends after `complete`, when the
   * signal aborts or when there is no such operation. Check the reader's rights before, and again while it is open.
   */
  follow(operationId: string, since: number, signal: AbortSignal): AsyncIterable<StoredEvent[]>;
  /** Resolves with true when the operation is over, with false when the signal aborts first. */
  settled(operationId: string, signal: AbortSignal): Promise<boolean>;
  /** Ends every follower. */
  close(): void;
}

export interface FeedOptions {
  db: Database;
  listener: Listener;
  clock: Clock;
  log: Log;
}

interface Followed {
  tail: Tail;
  followers: number;
}

export function createFeed({ db, listener, clock, log }: FeedOptions): Feed {
  const followed = new Map<string, Followed>();
  const closing = new AbortController();
  const onError = (error: unknown) => log.warn({ error }, "reading a log failed; the next look tries again");
  let polling = false;

  listener.listen(
    channels.events,
    (id) => {
      const tails = id === null ? [...followed.values()] : [followed.get(id)];
      for (const entry of tails) {
        entry?.tail.refresh();
      }
    },
    closing.signal,
  );

  /** The rows of all followed operations, in one question. */
  const look = async (ids: string[]) => {
    const rows = await rowsOf<{ id: string; head: number; final: boolean }>(
      db,
      sql`select id, (next_seq - 1)::float8 as head, final from operations where id = any(${sql.param(ids)}::text[])`,
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      followed.get(id)?.tail.learn(found.get(id) ?? null);
    }
  };

  const poll = async () => {
    polling = true;
    try {
      while (followed.size > 0) {
        await clock.sleep(limits.streamPollMs, closing.signal);
        await look([...followed.keys()]).catch(onError);
      }
    } finally {
      polling = false;
    }
  };

  const join = (id: string): Tail => {
    const known = followed.get(id);
    if (known !== undefined) {
      known.followers++;
      return known.tail;
    }
    const tail = openTail(db, id, onError);
    followed.set(id, { tail, followers: 1 });
    look([id]).catch(onError);
    if (!polling) {
      poll().catch((error: unknown) => !closing.signal.aborted && onError(error));
    }
    return tail;
  };

  const leave = (id: string) => {
    const entry = followed.get(id);
    if (entry !== undefined && --entry.followers === 0) {
      followed.delete(id);
    }
  };

  async function* follow(id: string, since: number, signal: AbortSignal): AsyncGenerator<StoredEvent[]> {
    const until = AbortSignal.any([signal, closing.signal]);
    const tail = join(id);
    try {
      for (let position = since; !until.aborted; ) {
        const page =
          tail.after(position) ??
          (await readEvents(db, { operationId: id, since: position, limit: limits.streamPageEvents }));
        if (page.length > 0) {
          yield page;
          position = page.at(-1)?.seq ?? position;
        } else if (tail.isOver(position)) {
          return;
        } else {
          await tail.changed(position, until);
        }
        if (page.some((event) => event.type === "complete")) {
          return;
        }
      }
    } finally {
      leave(id);
    }
  }

  const settled = async (id: string, signal: AbortSignal) => {
    // Nothing lies behind this position, so the log itself is not read.
    for await (const page of follow(id, Number.MAX_SAFE_INTEGER, signal)) {
      log.error({ operationId: id, seq: page[0]?.seq }, "an event lies beyond every seq");
    }
    return !signal.aborted && !closing.signal.aborted;
  };

  return { follow, settled, close: () => closing.abort() };
}
