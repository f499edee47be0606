/**
 * Who surely has tries left: a caller who had used less than half of the limit when last counted, with what is under
 * way here taken off. Counting waits for the database, and the read of such a caller may begin meanwhile; what holds is
 * the limiter's answer all the same. Half, since other edges count the same caller and are heard of only here.
 * Rejected: tries taken from the database in advance (what one edge holds unused, another would refuse).
 */
import { LRUCache } from "lru-cache";
import { limits } from "../../shared/domain/limits.ts";
import type { LimitAnswer, Limiter, LimitRule } from "../../shared/ports/limiter.ts";

export interface Counting {
  answer: Promise<LimitAnswer>;
  /** False for a caller of whom nothing is known. */
  hasRoom: boolean;
}

interface Caller {
  /** The least that was heard of in this window. */
  remaining: number;
  /** Infinity: never counted yet. */
  endsAtMs: number;
  underWay: number;
}

export function foreseeRoom(limiter: Limiter, now: () => number) {
  const callers = new LRUCache<string, Caller>({ max: limits.credentialCacheEntries });

  const callerOf = (key: string): Caller => {
    const known = callers.get(key);
    if (known !== undefined) return known;
    const caller = { remaining: 0, endsAtMs: Number.POSITIVE_INFINITY, underWay: 0 };
    callers.set(key, caller);
    return caller;
  };

  return (key: string, rule: LimitRule): Counting => {
    const caller = callerOf(key);
    const remaining = caller.endsAtMs <= now() ? rule.limit : caller.remaining;
    const hasRoom = remaining - caller.underWay > rule.limit / 2;
    caller.underWay += 1;
    const answer = limiter
      .take(key, rule)
      .then((counted) => {
        learn(caller, counted, now());
        return counted;
      })
      .finally(() => {
        caller.underWay -= 1;
      });
    return { answer, hasRoom };
  };
}

/** Answers of one window may come in any order. */
function learn(caller: Caller, { remaining, resetMs }: LimitAnswer, nowMs: number): void {
  const isFirst = caller.endsAtMs === Number.POSITIVE_INFINITY || caller.endsAtMs <= nowMs;
  caller.remaining = isFirst ? remaining : Math.min(caller.remaining, remaining);
  caller.endsAtMs = nowMs + resetMs;
}
