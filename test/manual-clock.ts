/** A clock that moves only when the test says so. */
import type { Clock } from "../shared/ports/clock.ts";

interface Sleeper {
  untilMs: number;
  wake: () => void;
}

export interface ManualClock extends Clock {
  /** Moves on, waking sleepers in their order, and lets what they do settle between them. */
  advance(ms: number): Promise<void>;
  /** How many sleep now. */
  sleepers(): number;
}

export function manualClock(startMs = 1_000_000): ManualClock {
  const sleepers = new Set<Sleeper>();
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    sleepers: () => sleepers.size,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          return reject(signal.reason);
        }
        const sleeper: Sleeper = { untilMs: nowMs + ms, wake: () => settle(resolve) };
        const onAbort = () => settle(() => reject(signal?.reason));
        const settle = (finish: () => void) => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", onAbort);
          finish();
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        sleepers.add(sleeper);
      }),
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      for (;;) {
        const [first] = [...sleepers].sort((a, b) => a.untilMs - b.untilMs);
        if (first === undefined || first.untilMs > untilMs) {
          break;
        }
        nowMs = Math.max(nowMs, first.untilMs);
        first.wake();
        await new Promise((resolve) => setImmediate(resolve));
      }
      nowMs = untilMs;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
