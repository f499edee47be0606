/**
 * Real time that a test may let pass faster: a minute of patience is over in seconds, by the product's own figures. For
 * what waits for a real server, where nobody could say when to move a manual clock on. Never goes back.
 */
import { wallClock } from "../shared/adapters/clocks.ts";
import type { Clock } from "../shared/ports/clock.ts";

export interface QuickClock extends Clock {
  /** From now on; 1 is real time, with which it begins. Whoever sleeps already goes on as he began. */
  run(times: number): void;
}

export function quickClock(): QuickClock {
  let times = 1;
  let changedMs = wallClock.nowMs();
  let shownMs = changedMs;
  const nowMs = () => shownMs + (wallClock.nowMs() - changedMs) * times;
  return {
    nowMs,
    sleep: (ms, signal) => wallClock.sleep(ms / times, signal),
    run: (next) => {
      [shownMs, changedMs, times] = [nowMs(), wallClock.nowMs(), next];
    },
  };
}
