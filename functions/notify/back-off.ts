/**
 * How long a channel rests after a failure: 5 s, doubling up to 15 minutes, a fifth more or less so that channels of one
 * receiver do not come back together. What the receiver asks for counts where it is longer. After 24 h it is dead.
 */
import { limits } from "../../shared/domain/limits.ts";

/** `failures`: in a row, this one included. `random`: 0 to 1. */
export function restMs(failures: number, random: number, askedMs = 0): number {
  const doubled = Math.min(limits.backOffMs * 2 ** Math.min(failures - 1, 30), limits.backOffMostMs);
  const jittered = doubled * (0.8 + 0.4 * random);
  return Math.round(Math.min(Math.max(jittered, askedMs), 4 * limits.backOffMostMs));
}

export function isDead(failingSinceMs: number, nowMs: number): boolean {
  return nowMs - failingSinceMs >= limits.channelDeadMs;
}
