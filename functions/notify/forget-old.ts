/** What was told long ago, and channels that were deleted: the audit keeps that they were. */
import { and, eq, isNotNull, lt, sql } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { alerts, notificationChannels, notificationDeliveries } from "../../shared/db/notification-tables.ts";
import { firstIdAt } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";

export async function forgetOld(db: Queryable, nowMs: number): Promise<void> {
  const sinceMs = nowMs - limits.deliveriesKeptMs;
  // Ids begin with their time, so that the primary key finds what is old.
  const { id, status } = notificationDeliveries;
  const settled = sql`${status} in ('sent', 'failed', 'suppressed')`;
  await db
    .delete(notificationDeliveries)
    .where(and(lt(id, firstIdAt("notificationDelivery", sinceMs)), settled));
  await db.delete(alerts).where(and(lt(alerts.id, firstIdAt("alert", sinceMs)), isNotNull(alerts.toldAt)));
  await db.delete(notificationChannels).where(
    and(
      lt(notificationChannels.deletedAt, new Date(sinceMs)),
      // The last in-app one stays as the mark that the person had one and deleted it.
      sql`${notificationChannels.kind} <> 'in_app'`,
      sql`not exists (select from ${notificationDeliveries}
          where ${eq(notificationDeliveries.channelId, notificationChannels.id)})`,
    ),
  );
}
