/**
 * Keeps the lease of one running operation: a heartbeat every 10 s, and a watch that ends the work BEFORE the lease
 * does where the heartbeats fail. Both count from the moment a renewal was sent, on the clock of this process, so the
 * database's clock is never compared with ours.
 */
import type { Database } from "../db/database.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { LeaseLost } from "./definition.ts";
import { renew } from "./lease.ts";
import type { LeaseTimes } from "./lease-times.ts";

export interface LeaseKeeper {
  /** Throws `LeaseLost` once the lease may be over, also when no timer has fired yet (the process was stopped). */
  check(): void;
  stop(): void;
}

export interface KeepLeaseOptions {
  db: Database;
  clock: Clock;
  log: Log;
  id: string;
  leaseToken: number;
  times: LeaseTimes;
  /** When the claim was sent, by `clock`. */
  sentAtMs: number;
  onLost: (reason: LeaseLost) => void;
  onCancel: () => void;
}

export function keepLease(options: KeepLeaseOptions): LeaseKeeper {
  const { clock, onLost, times } = options;
  const safeMs = times.leaseMs - times.marginMs;
  const done = new AbortController();
  let safeUntilMs = options.sentAtMs + safeMs;
  const lose = () => {
    done.abort();
    onLost(new LeaseLost());
  };
  const check = () => {
    if (clock.nowMs() >= safeUntilMs) {
      lose();
      throw new LeaseLost();
    }
  };
  const watch = async () => {
    for (let restMs = safeUntilMs - clock.nowMs(); restMs > 0; restMs = safeUntilMs - clock.nowMs()) {
      await clock.sleep(restMs, done.signal);
    }
    lose();
  };
  const beat = async () => {
    for (let waitMs = times.heartbeatMs; ; ) {
      await clock.sleep(waitMs, done.signal);
      const sentAtMs = clock.nowMs();
      const answer = await tryRenew(options);
      if (done.signal.aborted) {
        return;
      }
      if (answer === "lost") {
        return lose();
      }
      waitMs = answer === "unknown" ? times.heartbeatRetryMs : times.heartbeatMs;
      if (answer !== "unknown") {
        safeUntilMs = sentAtMs + safeMs;
      }
    }
  };
  for (const loop of [watch, beat]) {
    loop().catch((error: unknown) => {
      if (!done.signal.aborted) {
        options.log.error({ error, operationId: options.id }, "keeping a lease failed");
        lose();
      }
    });
  }
  return { check, stop: () => done.abort() };
}

async function tryRenew({
  db,
  id,
  leaseToken,
  log,
  times,
  onCancel,
}: KeepLeaseOptions): Promise<"kept" | "lost" | "unknown"> {
  try {
    const renewed = await renew(db, id, leaseToken, times.leaseMs);
    if (renewed?.cancelRequested) {
      onCancel();
    }
    return renewed === null ? "lost" : "kept";
  } catch (error) {
    log.warn({ error, operationId: id }, "a heartbeat did not reach the database");
    return "unknown";
  }
}
