/**
 * What a sender asks of the database: take the first delivery of channels that are due, write what became of it. A
 * channel has one sender at a time, by a lease with a token, so that its deliveries arrive in order; who lost the lease
 * writes nothing. Times are those of the caller's clock.
 */
import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import type { notificationDeliveries } from "../../shared/db/notification-tables.ts";
import { limits } from "../../shared/domain/limits.ts";
import { rowsOf } from "../../shared/operations/statements.ts";
import type { SentKind } from "./parts.ts";
import { type DeliveryEvent, deliveryStates, sourcesOf } from "./states.ts";

export interface Taken {
  id: string;
  organizationId: string;
  category: string;
  severity: typeof notificationDeliveries.$inferSelect.severity;
  title: string;
  message: string;
  link: string | null;
  resourceType: string;
  resourceId: string;
  count: number;
  createdAt: string;
  channel: {
    id: string;
    userId: string;
    kind: SentKind;
    label: string;
    config: { address?: string; url?: string };
    sealedSecret: string | null;
    leaseToken: number;
    failures: number;
    failingSince: string | null;
  };
}

/** Whether there is anything to do at all: an idle instance asks this and nothing more. */
export async function isAnythingOpen(db: Queryable): Promise<boolean> {
  const [row] = await rowsOf<{ open: boolean }>(
    db,
    sql`
      select exists (select from alerts where told_at is null)
        or exists (select from notification_deliveries where status in ('queued', 'sending')) as open`,
  );
  return row?.open === true;
}

/** Leases up to `most` channels that are due and takes the oldest delivery of each. */
export async function takeDue(db: Queryable, most: number, nowMs: number): Promise<Taken[]> {
  const now = stamp(nowMs);
  return rowsOf<Taken>(
    db,
    sql`
      with due as (
        select id from notification_channels
        where id in (select channel_id from notification_deliveries where status in ('queued', 'sending'))
          and deleted_at is null and enabled and verified
          and (lease_until is null or lease_until <= ${now})
          and (blocked_until is null or blocked_until <= ${now})
        limit ${most} for no key update skip locked
      ), leased as (
        update notification_channels as c
        set lease_token = nextval('lease_tokens'), lease_until = ${stamp(nowMs + limits.channelLeaseMs)}
        from due where c.id = due.id returning c.*
      ), taken as (
        update notification_deliveries as d set status = ${deliveryStates.queued.take}, attempts = attempts + 1
        where d.id in (
          select first.id from leased cross join lateral (
            select id from notification_deliveries as open
            where open.channel_id = leased.id and status in ('queued', 'sending') and ${ofMember(sql`open`)}
            order by id limit 1
          ) as first)
        returning d.*
      )
      select d.id, d.organization_id as "organizationId", d.category, d.severity, d.title, d.message, d.link,
        d.resource_type as "resourceType", d.resource_id as "resourceId", d.count,
        to_json(d.created_at) #>> '{}' as "createdAt",
        json_build_object('id', c.id, 'userId', c.user_id, 'kind', c.kind, 'label', c.label, 'config', c.config,
          'sealedSecret', c.sealed_secret, 'leaseToken', c.lease_token, 'failures', c.failures,
          'failingSince', c.failing_since) as channel
      from taken as d join leased as c on c.id = d.channel_id order by d.id`,
  );
}

export interface Settled {
  event: Exclude<DeliveryEvent, "take" | "suppress">;
  error: string | null;
  /** null: the receiver answers. */
  failing: { failures: number; sinceMs: number; blockedUntilMs: number } | null;
}

/** Writes the outcome and gives the lease back. False: the lease was lost, and the next sender decides. */
export async function settle(
  db: Queryable,
  { id, channel }: Taken,
  { event, error, failing }: Settled,
  nowMs: number,
): Promise<boolean> {
  const sentAt = event === "deliver" ? stamp(nowMs) : sql`null`;
  const rows = await rowsOf(
    db,
    sql`
      with held as (
        update notification_channels
        set lease_token = null, lease_until = null, last_error = ${error}, failures = ${failing?.failures ?? 0},
          failing_since = ${failing === null ? sql`null` : stamp(failing.sinceMs)},
          blocked_until = ${failing === null ? sql`null` : stamp(failing.blockedUntilMs)}
        where id = ${channel.id} and lease_token = ${channel.leaseToken}::bigint returning id
      )
      update notification_deliveries
      set status = ${deliveryStates.sending[event]}, last_error = ${error}, sent_at = ${sentAt}
      where id = ${id} and status = any(${sql.param(sourcesOf(event))}::text[]) and channel_id in (select id from held)
      returning id`,
  );
  return rows.length > 0;
}

/** Deliveries that wait for a channel which takes none any more: nothing waits for ever. */
export async function suppressUnwanted(db: Queryable, nowMs: number): Promise<void> {
  await rowsOf(
    db,
    sql`
      update notification_deliveries as d
      set status = ${deliveryStates.queued.suppress}, last_error = 'The channel takes nothing any more, or its owner has left.'
      from notification_channels as c
      where c.id = d.channel_id and d.status = any(${sql.param(sourcesOf("suppress"))}::text[])
        and (c.deleted_at is not null or not c.enabled or not c.verified or not ${ofMember(sql`d`)})
        and (d.status = 'queued' or c.lease_until is null or c.lease_until <= ${stamp(nowMs)})`,
  );
}

/** Leases of a process that is known to be dead: what it was sending is sent again at once, under the same id. */
export async function endChannelLeases(db: Queryable): Promise<void> {
  await rowsOf(db, sql`update notification_channels set lease_until = null where lease_until is not null`);
}

/** Asked again when it is sent: what waited for somebody who was removed meanwhile is not told. */
function ofMember(delivery: SQL): SQL {
  return sql`exists (select from memberships as m
    where m.organization_id = ${delivery}.organization_id and m.user_id = ${delivery}.user_id)`;
}

function stamp(ms: number) {
  return sql`${new Date(ms).toISOString()}::timestamptz`;
}
