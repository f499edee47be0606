/**
 * The exact limiter of several processes: one row a key, one statement a take. The database's clock says when a window
 * ends, so that all count alike. Nobody waits until a count is on disk: a database that crashes may forget the last
 * half second of them, and every request would pay for that. Rejected: a Durable Object for each key (the functions and
 * the other host could not ask it), and reading before writing (two at once would both be the last).
 */
import { lt, sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { rateWindows } from "../db/request-tables.ts";
import { Refusal } from "../domain/refusal.ts";
import { rowsOf } from "../operations/statements.ts";
import type { Limiter } from "../ports/limiter.ts";

export function createPostgresLimiter(db: Database): Limiter {
  return {
    async take(key, { limit, windowMs }) {
      const [row] = await rowsOf<{ taken: number; resetMs: number }>(
        db,
        sql`
          insert into rate_windows as known (key, taken, ends_at)
          values (${key}, 1, clock_timestamp() + make_interval(secs => ${windowMs / 1000}))
          on conflict (key) do update set
            taken = case when known.ends_at <= clock_timestamp() then 1
              else least(known.taken, ${limit}::int) + 1 end,
            ends_at = case when known.ends_at <= clock_timestamp() then excluded.ends_at else known.ends_at end
          returning taken, set_config('synchronous_commit', 'off', true),
            (extract(epoch from ends_at - clock_timestamp()) * 1000)::float8 as "resetMs"`,
      ).catch((cause: unknown) => {
        throw new Refusal("unavailable", "not_counted", "The database does not answer. Try again.", {
          cause,
          retryAfterSeconds: 5,
        });
      });
      const taken = row?.taken ?? limit + 1;
      return {
        allowed: taken <= limit,
        limit,
        remaining: Math.max(0, limit - taken),
        resetMs: Math.min(windowMs, Math.max(0, row?.resetMs ?? windowMs)),
      };
    },
  };
}

/** Windows that are over count for nothing. */
export async function forgetOldWindows(db: Database): Promise<void> {
  await db.delete(rateWindows).where(lt(rateWindows.endsAt, sql`now()`));
}
