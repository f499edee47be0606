/**
 * Which category goes to which channel of the caller, in the active organization. A row decides; where there is none
 * the organization's default does, else the registry's: the effective grid says for every pair which one it is.
 */
import { and, desc, eq, inArray, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { notificationChannels, notificationSubscriptions } from "../../shared/db/notification-tables.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound } from "../../shared/domain/refusal.ts";
import { listDefaults } from "./defaults.ts";
import { lockChannel, refuseWider } from "./load-channel.ts";

type Row = typeof notificationSubscriptions.$inferSelect;

function theirs({ userId, organizationId }: Principal) {
  const { userId: user, organizationId: organization } = notificationSubscriptions;
  return and(eq(user, userId), eq(organization, organizationId));
}

export async function listSubscriptions(db: Queryable, principal: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(notificationSubscriptions)
    .where(and(theirs(principal), behindCursor(notificationSubscriptions.id, page)))
    .orderBy(desc(notificationSubscriptions.id))
    .limit(page.limit + 1);
  return toPage(rows, page, show);
}

/** Every category on every channel of a page of channels. */
export async function listEffective(db: Queryable, principal: Principal, page: PageRequest) {
  const { id, userId, deletedAt } = notificationChannels;
  const channels = await db
    .select({ id })
    .from(notificationChannels)
    .where(and(eq(userId, principal.userId), isNull(deletedAt), behindCursor(id, page)))
    .orderBy(desc(id))
    .limit(page.limit + 1);
  const shown = toPage(channels, page, (channel) => channel.id);
  const rows = await db
    .select()
    .from(notificationSubscriptions)
    .where(and(theirs(principal), inArray(notificationSubscriptions.channelId, shown.data)));
  const decided = new Map(rows.map((row) => [`${row.channelId} ${row.category}`, row]));
  const { data: defaults } = await listDefaults(db, principal);
  const grid = shown.data.flatMap((channelId) =>
    defaults.map(({ category, defaultEnabled, source }) => {
      const row = decided.get(`${channelId} ${category}`);
      if (row !== undefined) return { ...show(row), source: "subscription" as const };
      return { category, channelId, enabled: defaultEnabled, source };
    }),
  );
  return { data: grid, nextCursor: shown.nextCursor };
}

export async function putSubscription(
  db: Database,
  principal: Principal,
  wanted: { category: string; channelId: string; enabled: boolean },
) {
  const { userId, organizationId } = principal;
  return db.transaction(async (tx) => {
    refuseWider(principal, await lockChannel(tx, principal, wanted.channelId));
    const { channelId, category } = notificationSubscriptions;
    const [row] = await tx
      .insert(notificationSubscriptions)
      .values({ id: newId("notificationSubscription"), userId, organizationId, ...wanted })
      .onConflictDoUpdate({
        target: [channelId, notificationSubscriptions.organizationId, category],
        set: { enabled: wanted.enabled, updatedAt: sql`now()` },
      })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    const resource = { kind: "notification_subscription", id: row.id };
    const fields = ["category", "channelId", "enabled"];
    await writeAudit(tx, principal, { action: "notification_subscription.set", resource, fields });
    return show(row);
  });
}

export async function deleteSubscription(db: Database, principal: Principal, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx
      .delete(notificationSubscriptions)
      .where(and(theirs(principal), eq(notificationSubscriptions.id, id)))
      .returning();
    if (row === undefined) throw notFound();
    const resource = { kind: "notification_subscription", id };
    await writeAudit(tx, principal, { action: "notification_subscription.deleted", resource });
  });
}

function show({ id, category, channelId, enabled, createdAt, updatedAt }: Row) {
  return {
    ...{ id, category, channelId, enabled },
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
