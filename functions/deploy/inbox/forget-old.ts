/**
 * Deliveries are kept for 30 days, bodies included; what they deployed stays. In small batches, each a statement of its
 * own: a flood of a month ago must not hold a lock or a long transaction today.
 */
import { sql } from "drizzle-orm";
import type { Queryable } from "../../../shared/db/database.ts";
import { firstIdAt } from "../../../shared/domain/identifier.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";

/** Of one sweep; the next one goes on. */
const batchesMost = 100;

/** Answers how many were deleted. */
export async function forgetDeliveries(
  db: Queryable,
  { nowMs, batch = limits.deliveriesForgotten }: { nowMs: number; batch?: number },
): Promise<number> {
  // Ids begin with their time, so that the primary key finds what is old.
  const before = firstIdAt("delivery", nowMs - limits.webhookDeliveriesKeptMs);
  let deleted = 0;
  for (let index = 0; index < batchesMost; index++) {
    const rows = await rowsOf<{ id: string }>(
      db,
      sql`
        delete from webhook_deliveries where id in (
          select id from webhook_deliveries where id < ${before} order by id limit ${batch} for update skip locked
        ) returning id`,
    );
    deleted += rows.length;
    if (rows.length < batch) break;
  }
  return deleted;
}
