/**
 * For a test in which an owner dies: the next one need not wait half a minute for the end of what the dead one holds.
 * Long enough for a heartbeat that a crowded machine delays.
 */
import type { LeaseTimes } from "../shared/operations/lease-times.ts";

export const shortLease: LeaseTimes = {
  leaseMs: 5_000,
  heartbeatMs: 1_000,
  heartbeatRetryMs: 250,
  marginMs: 1_000,
};
