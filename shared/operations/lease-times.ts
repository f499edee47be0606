/**
 * How long a lease lasts and how it is kept. One decision for claim, heartbeat and give-back, handed over by whoever
 * composes the process: an owner and its neighbours may differ, since only the database compares. Rejected: a setting of
 * the environment (nobody can choose better than the limits, and a short lease only costs heartbeats).
 */
import { limits } from "../domain/limits.ts";

export interface LeaseTimes {
  leaseMs: number;
  heartbeatMs: number;
  /** After a heartbeat that failed. */
  heartbeatRetryMs: number;
  /** An owner that cannot renew stops this long before its lease ends. */
  marginMs: number;
}

export const defaultLeaseTimes: LeaseTimes = {
  leaseMs: limits.leaseMs,
  heartbeatMs: limits.heartbeatMs,
  heartbeatRetryMs: limits.heartbeatRetryMs,
  marginMs: limits.leaseMarginMs,
};
