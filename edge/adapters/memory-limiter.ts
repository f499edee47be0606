/**
 * The exact limiter of one process: a window begins with the first take of a key and holds one number. Rejected: a log
 * of all times (10 KB a token at 1,200 a minute) and token buckets (they never refuse at exactly the written number).
 */
import { limits } from "../../shared/domain/limits.ts";
import type { Limiter } from "../../shared/ports/limiter.ts";

interface Window {
  endsAtMs: number;
  taken: number;
}

export function createMemoryLimiter(
  now: () => number = Date.now,
  mostKeys: number = limits.limiterKeys,
): Limiter {
  const windows = new Map<string, Window>();

  const open = (key: string, windowMs: number): Window => {
    windows.delete(key);
    // Windows stand in the order in which they began: the ones in front end first.
    for (const [each, window] of windows) {
      if (windows.size < mostKeys && window.endsAtMs > now()) break;
      windows.delete(each);
    }
    const window = { endsAtMs: now() + windowMs, taken: 0 };
    windows.set(key, window);
    return window;
  };

  return {
    async take(key, { limit, windowMs }) {
      const known = windows.get(key);
      const window = known !== undefined && known.endsAtMs > now() ? known : open(key, windowMs);
      const allowed = window.taken < limit;
      if (allowed) window.taken += 1;
      return { allowed, limit, remaining: limit - window.taken, resetMs: window.endsAtMs - now() };
    },
  };
}
