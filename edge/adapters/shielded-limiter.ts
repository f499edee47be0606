/**
 * A limiter of two: a quick one of the place where the request came in keeps floods from the exact one behind it. The
 * quick one is set to twice the exact figure, since two windows of the exact one can lie within one of its own: it never
 * refuses what the exact one would allow. Callers with a token are known already and skip it.
 */
import { limits } from "../../shared/domain/limits.ts";
import type { Limiter } from "../../shared/ports/limiter.ts";

/** Cloudflare's rate limit binding: one figure and period a namespace, counted by location. */
export interface Shield {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

export function createShieldedLimiter(shield: Shield, exact: Limiter): Limiter {
  return {
    async take(key, rule) {
      const isFlood = !key.startsWith("token:") && !(await shield.limit({ key })).success;
      if (!isFlood) return exact.take(key, rule);
      return { allowed: false, limit: rule.limit, remaining: 0, resetMs: limits.shieldPeriodMs };
    },
  };
}
