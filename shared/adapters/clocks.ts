/** The two clocks of a process: what time it is, and how long something took. Only the first can be stepped by an operator. */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../ports/clock.ts";

const sleep: Clock["sleep"] = async (ms, signal) => {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    // Node rejects with an AbortError of its own; the port promises the reason (a lost lease, a cancel).
    signal?.throwIfAborted();
    throw error;
  }
};

/** Milliseconds since 1970, for what is stored or shown. */
export const wallClock: Clock = { nowMs: () => Date.now(), sleep };

/** Milliseconds since the process began, for leases and deadlines: never stepped. */
export const monotonicClock: Clock = { nowMs: () => performance.now(), sleep };
