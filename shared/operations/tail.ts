/**
 * The end of one operation's log, shared by all who follow it: read once for each notification, whoever many they are,
 * and kept in a bounded window. Who falls behind the window reads pages of the database at his own pace.
 */
import type { Database } from "../db/database.ts";
import { limits } from "../domain/limits.ts";
import type { StoredEvent } from "./definition.ts";
import { readEvents } from "./event-log.ts";

export interface Tail {
  /** Events after this seq, `[]` when there are none yet, undefined when they lie before the window. */
  after(position: number): StoredEvent[] | undefined;
  /** Nothing will come after this seq. */
  isOver(position: number): boolean;
  /** Resolves when something came after this seq, or nothing will. */
  changed(position: number, signal: AbortSignal): Promise<void>;
  /** What the row says now: the highest seq, or null for a row that is gone. */
  learn(row: { head: number; final: boolean } | null): void;
  /** The log may have grown. */
  refresh(): void;
}

export function openTail(db: Database, operationId: string, onError: (error: unknown) => void): Tail {
  const waiting = new Set<() => void>();
  let events: StoredEvent[] = [];
  let bytes = 0;
  /** Known up to here; undefined until the row was read. */
  let head: number | undefined;
  let final = false;
  let reading = false;
  let again = false;

  const wakeAll = () => {
    for (const wake of waiting) {
      wake();
    }
  };

  const take = (page: StoredEvent[]) => {
    for (const event of page) {
      bytes += sizeOf(event);
      final ||= event.type === "complete";
    }
    events.push(...page);
    head = page.at(-1)?.seq ?? head;
    let dropped = 0;
    while (dropped < events.length - limits.streamPageEvents || bytes > limits.streamTailBytes) {
      bytes -= sizeOf(events[dropped] as StoredEvent);
      dropped++;
    }
    events = dropped === 0 ? events : events.slice(dropped);
    wakeAll();
  };

  const read = async () => {
    do {
      again = false;
      const page = await readEvents(db, { operationId, since: head ?? 0, limit: limits.streamPageEvents });
      again ||= page.length === limits.streamPageEvents;
      if (page.length > 0) {
        take(page);
      }
    } while (again);
  };

  const refresh = () => {
    again = true;
    if (reading || head === undefined) {
      return;
    }
    reading = true;
    read()
      .catch(onError)
      .finally(() => {
        reading = false;
      });
  };

  return {
    refresh,
    after: (position) => {
      if (head === undefined || (position < head && position < (events[0]?.seq ?? head + 1) - 1)) {
        return undefined;
      }
      return position >= head ? [] : events.slice(position - head);
    },
    isOver: (position) => final && position >= (head ?? Number.POSITIVE_INFINITY),
    learn: (row) => {
      if (row === null) {
        [final, head, events] = [true, 0, []];
        wakeAll();
      } else if (head === undefined) {
        [final, head] = [row.final, row.head];
        wakeAll();
        refresh();
      } else if (row.head > head) {
        refresh();
      }
    },
    changed: (position, signal) =>
      new Promise((resolve) => {
        const check = () => {
          if (signal.aborted || (head !== undefined && (head > position || final))) {
            waiting.delete(check);
            signal.removeEventListener("abort", check);
            resolve();
          }
        };
        waiting.add(check);
        signal.addEventListener("abort", check, { once: true });
        check();
      }),
  };
}

function sizeOf({ data }: StoredEvent): number {
  return 200 + (typeof data["line"] === "string" ? data["line"].length : 0);
}
