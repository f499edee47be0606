/**
 * What a membership means for notifications: with the first one a person gets an in-app channel, with each one a row a
 * category, seeded from the defaults of then, so that later changes of defaults do not touch it (decisions.md section
 * 6). With its end nothing of the organization reaches the person any more.
 */
import { and, asc, eq, sql } from "drizzle-orm";
import { newId } from "../domain/identifier.ts";
import { categories } from "../domain/notification.ts";
import type { Queryable } from "./database.ts";
import {
  notificationChannels,
  notificationDefaults,
  notificationDeliveries,
  notificationSubscriptions,
} from "./notification-tables.ts";

export interface Membership {
  organizationId: string;
  userId: string;
}

export async function beginNotifications(
  tx: Queryable,
  { organizationId, userId }: Membership,
): Promise<void> {
  const channelId = await inAppChannel(tx, userId);
  if (channelId === null) return;
  const rows = await tx
    .select()
    .from(notificationDefaults)
    .where(eq(notificationDefaults.organizationId, organizationId));
  const defaults = new Map(rows.map(({ category, defaultEnabled }) => [category, defaultEnabled]));
  await tx
    .insert(notificationSubscriptions)
    .values(
      categories.map(({ id: category, defaultEnabled }) => ({
        id: newId("notificationSubscription"),
        ...{ userId, organizationId, channelId, category },
        enabled: defaults.get(category) ?? defaultEnabled,
      })),
    )
    .onConflictDoNothing();
}

/** The oldest one; made where the person never had any. null: the person deleted them all. */
async function inAppChannel(tx: Queryable, userId: string): Promise<string | null> {
  const all = await tx
    .select({ id: notificationChannels.id, deletedAt: notificationChannels.deletedAt })
    .from(notificationChannels)
    .where(and(eq(notificationChannels.userId, userId), eq(notificationChannels.kind, "in_app")))
    .orderBy(asc(notificationChannels.id));
  if (all.length > 0) return all.find(({ deletedAt }) => deletedAt === null)?.id ?? null;
  const id = newId("notificationChannel");
  await tx
    .insert(notificationChannels)
    .values({ id, userId, kind: "in_app", label: "In-app", verified: true });
  return id;
}

export async function endNotifications(tx: Queryable, { organizationId, userId }: Membership): Promise<void> {
  const theirs = and(
    eq(notificationSubscriptions.organizationId, organizationId),
    eq(notificationSubscriptions.userId, userId),
  );
  await tx.delete(notificationSubscriptions).where(theirs);
  await suppressQueued(tx, {
    where: sql`${notificationDeliveries.organizationId} = ${organizationId} and ${notificationDeliveries.userId} = ${userId}`,
    why: "The person is no member of the organization any more.",
  });
}

/** What waits for nothing is not left waiting. */
export async function suppressQueued(
  tx: Queryable,
  { where, why }: { where: ReturnType<typeof sql>; why: string },
): Promise<void> {
  await tx
    .update(notificationDeliveries)
    .set({ status: "suppressed", lastError: why })
    .where(and(eq(notificationDeliveries.status, "queued"), where));
}
