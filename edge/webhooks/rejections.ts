/**
 * Refused signatures by repository: ten within ten minutes are told to the organizations whose projects use it, since a
 * secret that went out of step is the most common reason why pushes do not deploy. What strangers can make it do has
 * bounds: so many repositories are remembered, and the database lets one alert an hour and project pass.
 */
import { limits } from "../../shared/domain/limits.ts";

export interface Rejections {
  /** Answers true when the bound is reached, and begins to count again. */
  note(repository: string): boolean;
}

const mostRepositories = 10_000;

export function createRejections(now: () => number = Date.now): Rejections {
  /** When the last ones were refused, by repository; the one that was refused last stands last. */
  const seen = new Map<string, number[]>();
  return {
    note(repository) {
      const sinceMs = now() - limits.rejectionsMs;
      const times = [...(seen.get(repository) ?? []).filter((ms) => ms > sinceMs), now()];
      seen.delete(repository);
      if (times.length >= limits.rejectionsNoted) return true;
      seen.set(repository, times);
      const [oldest] = seen.keys();
      if (seen.size > mostRepositories && oldest !== undefined) seen.delete(oldest);
      return false;
    },
  };
}
