/** What an organization tells its members unless they decide otherwise: its own word for a category, else the registry's. */
import { eq, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { notificationDefaults } from "../../shared/db/notification-tables.ts";
import { categories } from "../../shared/domain/notification.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";

export async function listDefaults(db: Queryable, { organizationId }: Principal) {
  const rows = await db
    .select()
    .from(notificationDefaults)
    .where(eq(notificationDefaults.organizationId, organizationId));
  const own = new Map(rows.map((row) => [row.category, row.defaultEnabled]));
  const data = categories.map(({ id: category, defaultEnabled }) => {
    const said = own.get(category);
    return said === undefined
      ? { category, defaultEnabled, source: "registry" as const }
      : { category, defaultEnabled: said, source: "organization" as const };
  });
  return { data, nextCursor: null };
}

export async function putDefault(
  db: Database,
  principal: Principal,
  { category, defaultEnabled }: { category: string; defaultEnabled: boolean },
) {
  const { organizationId, projectIds, serverIds } = principal;
  if (projectIds !== null || serverIds !== null) {
    throw new Refusal(
      "forbidden",
      "narrowed_token",
      "A narrowed token cannot set what all members are told.",
    );
  }
  await db.transaction(async (tx) => {
    await tx
      .insert(notificationDefaults)
      .values({ organizationId, category, defaultEnabled })
      .onConflictDoUpdate({
        target: [notificationDefaults.organizationId, notificationDefaults.category],
        set: { defaultEnabled, updatedAt: sql`now()` },
      });
    const resource = { kind: "notification_default", id: category };
    const fields = ["defaultEnabled"];
    await writeAudit(tx, principal, { action: "notification_default.set", resource, fields });
  });
  return { category, defaultEnabled, source: "organization" as const };
}
