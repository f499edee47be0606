/**
 * A dead channel: it is disabled, what waits for it is suppressed, and its owner finds a notice in the feed that says
 * which channel, why, and how to bring it back.
 */
import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../shared/db/database.ts";
import { suppressQueued } from "../../shared/db/notification-membership.ts";
import { notificationChannels, notificationDeliveries } from "../../shared/db/notification-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { tellFeeds } from "./feed-channel.ts";
import { settle, type Taken } from "./store.ts";

/** Of notices about channels: no category that anybody subscribes to. */
const channelDisabled = "channel.disabled";

export async function suspendChannel(
  db: Database,
  taken: Taken,
  error: string,
  nowMs: number,
): Promise<void> {
  await db.transaction(async (tx) => {
    const held = await settle(tx, taken, { event: "refuse", error, failing: null }, nowMs);
    if (!held) return;
    const { id } = taken.channel;
    await tx
      .update(notificationChannels)
      .set({ enabled: false, lastError: error })
      .where(eq(notificationChannels.id, id));
    const where = sql`${notificationDeliveries.channelId} = ${id}`;
    await suppressQueued(tx, { where, why: "The channel was disabled." });
    await writeNotice(tx, taken, error, nowMs);
  });
}

async function writeNotice(tx: Transaction, taken: Taken, error: string, nowMs: number): Promise<void> {
  const { userId, id: resourceId, label } = taken.channel;
  const [feed] = await tx
    .select({ id: notificationChannels.id })
    .from(notificationChannels)
    .where(
      and(
        eq(notificationChannels.userId, userId),
        eq(notificationChannels.kind, "in_app"),
        eq(notificationChannels.enabled, true),
        isNull(notificationChannels.deletedAt),
      ),
    )
    .orderBy(asc(notificationChannels.id))
    .limit(1);
  if (feed === undefined) return;
  await tx.insert(notificationDeliveries).values({
    id: newId("notificationDelivery"),
    organizationId: taken.organizationId,
    ...{ userId, channelId: feed.id, channelKind: "in_app", status: "sent" },
    category: channelDisabled,
    severity: "error",
    title: `The channel "${label}" was disabled`,
    message: `Nothing arrived there any more. ${error}\nRepair the receiver, then enable the channel and test it.`,
    ...{ resourceType: "channel", resourceId },
    createdAt: new Date(nowMs),
    sentAt: new Date(nowMs),
  });
  await tellFeeds(tx, [userId]);
}
