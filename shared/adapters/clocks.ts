/**
 * The two clocks of a process: what time it is, and how long something took. Only the first can be stepped by an
 * operator. Made of what every host has, so that the worker runs on the same ones.
 */
import type { Clock } from "../ports/clock.ts";

const sleep: Clock["sleep"] = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });

/** Milliseconds since 1970, for what is stored or shown. */
export const wallClock: Clock = { nowMs: () => Date.now(), sleep };

/** Milliseconds since the process began, for leases and deadlines: never stepped. */
export const monotonicClock: Clock = { nowMs: () => performance.now(), sleep };
