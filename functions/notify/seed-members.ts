/** Members from before there were notifications get what a new member gets, once. */
import { sql } from "drizzle-orm";
import type { Database } from "../../shared/db/database.ts";
import { beginNotifications, type Membership } from "../../shared/db/notification-membership.ts";
import { rowsOf } from "../../shared/operations/statements.ts";

export async function seedMembers(db: Database): Promise<void> {
  const rows = await rowsOf<Membership>(
    db,
    sql`
      select organization_id as "organizationId", user_id as "userId" from memberships as m
      where not exists (select from notification_channels as c where c.user_id = m.user_id and c.kind = 'in_app')`,
  );
  for (const membership of rows) await db.transaction((tx) => beginNotifications(tx, membership));
}
