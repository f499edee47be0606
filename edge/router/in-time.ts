/**
 * A delivery's body that does not say how long it is has to come within its time: who sends it slowly on purpose holds a
 * request no longer than that. Where the length is said, the host bounds it (`node.ts`): a timer of ours for each delivery
 * cost workerd a seventh of its rate.
 */
import { limits } from "../../shared/domain/limits.ts";
import { Refusal } from "../../shared/domain/refusal.ts";

/** Rejects with what the caller is told; what comes later is nobody's. */
export async function inTime<T>(body: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooSlow()), limits.deliveryBodyMs);
  try {
    return await Promise.race([body, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(): Refusal {
  const seconds = limits.deliveryBodyMs / 1000;
  return new Refusal("validation", "body_too_slow", `The body must have come within ${seconds} seconds.`);
}
