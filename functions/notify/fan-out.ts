/**
 * From the outbox to deliveries, one alert a transaction, in the order in which they were raised. One process at a time
 * (an advisory lock): two would mix up the order of a channel. Equal alerts within ten minutes become one that waits or
 * was not seen yet, with the newest words and a count.
 */
import { and, asc, eq, gt, inArray, isNull, or, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../shared/db/database.ts";
import { memberships } from "../../shared/db/identity-tables.ts";
import {
  alerts,
  notificationChannels,
  notificationDefaults,
  notificationDeliveries,
  notificationSubscriptions,
} from "../../shared/db/notification-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import { categoryOf } from "../../shared/domain/notification.ts";
import type { Log } from "../../shared/ports/log.ts";
import { chooseRecipients, type Recipient } from "./audience.ts";
import { tellFeeds } from "./feed-channel.ts";

type AlertRow = typeof alerts.$inferSelect;

export interface FanOutParts {
  db: Database;
  log: Log;
  nowMs: number;
}

/** Rows of one insert: bounded by the parameters that a statement may have. */
const rowsAtOnce = 1_000;

/** Tells what waits. Answers how many were told; fewer than `limits.alertsAtOnce` means that nothing is left. */
export async function fanOut({ db, log, nowMs }: FanOutParts): Promise<number> {
  const waiting = await db
    .select({ id: alerts.id })
    .from(alerts)
    .where(isNull(alerts.toldAt))
    .orderBy(asc(alerts.id))
    .limit(limits.alertsAtOnce);
  let told = 0;
  for (const { id } of waiting) {
    try {
      told += (await db.transaction((tx) => tell(tx, id, nowMs))) ? 1 : 0;
    } catch (error) {
      log.error({ error, alertId: id }, "an alert could not be told; the next pass tries again");
    }
  }
  return told;
}

async function tell(tx: Transaction, id: string, nowMs: number): Promise<boolean> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('slipway.notify.fan-out', 0))`);
  const [alert] = await tx
    .update(alerts)
    .set({ toldAt: new Date(nowMs) })
    .where(and(eq(alerts.id, id), isNull(alerts.toldAt)))
    .returning();
  if (alert === undefined) return false;
  const recipients = chooseRecipients(alert, await candidatesFor(tx, alert), await defaultFor(tx, alert));
  const joined = await collapse(tx, alert, recipients);
  const fresh = recipients.filter(({ channelId }) => !joined.has(channelId));
  for (let from = 0; from < fresh.length; from += rowsAtOnce) {
    await tx
      .insert(notificationDeliveries)
      .values(fresh.slice(from, from + rowsAtOnce).map((one) => deliveryOf(alert, one)))
      .onConflictDoNothing();
  }
  await tellFeeds(
    tx,
    recipients.flatMap(({ kind, userId }) => (kind === "in_app" ? [userId] : [])),
  );
  return true;
}

function candidatesFor(tx: Transaction, { organizationId, category }: AlertRow) {
  const { id: channelId, userId, kind, enabled, verified, projectIds, serverIds } = notificationChannels;
  return tx
    .select({
      ...{ channelId, userId, kind, enabled, verified, projectIds, serverIds },
      role: memberships.role,
      subscribed: notificationSubscriptions.enabled,
    })
    .from(memberships)
    .innerJoin(
      notificationChannels,
      and(eq(notificationChannels.userId, memberships.userId), isNull(notificationChannels.deletedAt)),
    )
    .leftJoin(
      notificationSubscriptions,
      and(
        eq(notificationSubscriptions.channelId, notificationChannels.id),
        eq(notificationSubscriptions.organizationId, organizationId),
        eq(notificationSubscriptions.category, category),
      ),
    )
    .where(eq(memberships.organizationId, organizationId))
    .orderBy(asc(notificationChannels.id));
}

async function defaultFor(tx: Transaction, { organizationId, category }: AlertRow): Promise<boolean> {
  const [row] = await tx
    .select({ enabled: notificationDefaults.defaultEnabled })
    .from(notificationDefaults)
    .where(
      and(
        eq(notificationDefaults.organizationId, organizationId),
        eq(notificationDefaults.category, category),
      ),
    );
  return row?.enabled ?? categoryOf(category)?.defaultEnabled ?? false;
}

/** Answers the channels whose waiting (or unseen) delivery stands for this alert too. */
async function collapse(
  tx: Transaction,
  alert: AlertRow,
  recipients: readonly Recipient[],
): Promise<Set<string>> {
  const queued = recipients.flatMap(({ status, channelId }) => (status === "queued" ? [channelId] : []));
  const fed = recipients.flatMap(({ status, userId }) => (status === "sent" ? [userId] : []));
  if (queued.length + fed.length === 0) return new Set();
  const row = notificationDeliveries;
  const waits = and(eq(row.status, "queued"), inArray(row.channelId, queued));
  const unseen = and(eq(row.channelKind, "in_app"), isNull(row.seenAt), inArray(row.userId, fed));
  const { title, message, link } = alert;
  const joined = await tx
    .update(row)
    .set({
      ...{ title, message, link },
      count: sql`${row.count} + 1`,
      revision: sql`nextval('feed_revisions')`,
    })
    .where(
      and(
        or(queued.length > 0 ? waits : undefined, fed.length > 0 ? unseen : undefined),
        eq(row.organizationId, alert.organizationId),
        eq(row.category, alert.category),
        eq(row.resourceType, alert.resourceType),
        eq(row.resourceId, alert.resourceId),
        gt(row.createdAt, new Date(alert.createdAt.getTime() - limits.collapseMs)),
      ),
    )
    .returning({ channelId: row.channelId, channelKind: row.channelKind, userId: row.userId });
  const users = new Set(joined.flatMap((one) => (one.channelKind === "in_app" ? [one.userId] : [])));
  const channels = new Set(joined.map(({ channelId }) => channelId));
  for (const one of recipients)
    if (one.kind === "in_app" && users.has(one.userId)) channels.add(one.channelId);
  return channels;
}

function deliveryOf(alert: AlertRow, { channelId, userId, kind, status, why }: Recipient) {
  const { id: alertId, toldAt: _told, userId: _about, createdAt, ...said } = alert;
  return {
    ...said,
    id: newId("notificationDelivery"),
    ...{ alertId, channelId, userId, channelKind: kind, status, lastError: why, createdAt },
    sentAt: status === "sent" ? createdAt : null,
  };
}
