/** Refused deliveries (401, 413, 429), counted by minute and source: a refusal is never a row in the database. */
import type { Metrics } from "../../shared/ports/metrics.ts";

export interface Counters {
  count(status: 401 | 413 | 429, source: string): void;
  /** Newest minute first. */
  list(): RefusedCount[];
  /** Nothing before this time is counted. */
  sinceMs(): number;
}

export interface RefusedCount {
  /** ISO 8601, the start of the minute. */
  minute: string;
  source: string;
  status: number;
  count: number;
}

const keptMs = 3_600_000;

/** Of the last hour at most; beyond `mostEntries` the oldest go first. */
export function createCounters(now: () => number = Date.now, mostEntries = 5_000): Counters {
  const entries = new Map<string, RefusedCount>();
  const startedMs = now();
  return {
    sinceMs: () => Math.max(startedMs, now() - keptMs),
    count(status, source) {
      const minute = new Date(Math.floor(now() / 60_000) * 60_000).toISOString();
      const key = `${minute} ${status} ${source}`;
      const known = entries.get(key);
      if (known !== undefined) {
        known.count += 1;
        return;
      }
      const oldest = new Date(now() - keptMs).toISOString();
      for (const [each, entry] of entries) {
        if (entries.size < mostEntries && entry.minute > oldest) break;
        entries.delete(each);
      }
      entries.set(key, { minute, source, status, count: 1 });
    },
    list: () => [...entries.values()].reverse(),
  };
}

/** The same, counted for metrics too: by status alone, since sources have no bound. */
export function counted(counters: Counters, metrics: Metrics): Counters {
  const refused = metrics.counter({
    name: "slipway_webhooks_refused_total",
    help: "Deliveries refused before they were stored, by status.",
  });
  return {
    count(status, source) {
      refused.add({ status: String(status) });
      counters.count(status, source);
    },
    list: () => counters.list(),
    sinceMs: () => counters.sinceMs(),
  };
}
