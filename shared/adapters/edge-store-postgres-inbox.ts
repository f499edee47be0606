/** The delivery inbox in Postgres: claims that only one can win, and outcomes that are written whole or not at all. */
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { newId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { encode, rowsOf } from "../operations/statements.ts";
import type {
  Claim,
  HookSecret,
  InboxStore,
  LinkedProject,
  Trust,
  VerifiedDelivery,
} from "../ports/edge-store.ts";
import { reportRejected } from "./edge-store-postgres-rejected.ts";
import { settle } from "./edge-store-postgres-settle.ts";

export function createPostgresInbox(db: Database): InboxStore {
  return {
    hookSecrets: (repository, hookId, most) => hookSecrets(db, repository, hookId, most),
    linkedProjects: (repository, trust) => linkedProjects(db, repository, trust),
    claim: (delivery, organizationIds) => claim(db, delivery, organizationIds),
    settle: (claimed, plan) => settle(db, claimed, plan),
    fail: (claimed, reason) => fail(db, claimed, reason),
    reportRejected: (repository) => reportRejected(db, repository),
    reclaim: (most) => reclaim(db, most),
  };
}

const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${limits.deliveryLeaseMs / 1000})`;

function hookSecrets(
  db: Database,
  repository: string,
  hookId: string | null,
  most: number,
): Promise<HookSecret[]> {
  return rowsOf<HookSecret>(
    db,
    sql`
      select id as "projectId", organization_id as "organizationId", sealed_webhook_secret as "sealedSecret"
      from projects
      where repository = ${repository} and deleted_at is null and sealed_webhook_secret is not null
      order by hook_id is not distinct from ${hookId} desc, id
      limit ${most}`,
  );
}

function linkedProjects(db: Database, repository: string, trust: Trust): Promise<LinkedProject[]> {
  return rowsOf<LinkedProject>(
    db,
    sql`
      select id, organization_id as "organizationId", auto_deploy as "autoDeploy", branch
      from projects
      where repository = ${repository} and deleted_at is null and ${actingFor(trust)}
      order by id`,
  );
}

function actingFor(trust: Trust): SQL {
  return trust.by === "instance_secret"
    ? sql`sealed_webhook_secret is null`
    : sql`organization_id = any(${sql.param(trust.organizationIds)}::text[])`;
}

async function claim(
  db: Database,
  delivery: VerifiedDelivery,
  organizationIds: readonly (string | null)[],
): Promise<Claim[]> {
  const rows = organizationIds.map((organizationId) => ({ id: newId("delivery"), organizationId }));
  return rowsOf<Claim>(
    db,
    sql`
      insert into webhook_deliveries as row (
        id, organization_id, provider, delivery_id, event, headers, body, verdict, status, attempts, lease_until
      )
      select wanted.id, wanted."organizationId", ${delivery.provider}, ${delivery.deliveryId},
        ${delivery.event}::text, ${encode(delivery.headers)}::jsonb, ${sql.param(delivery.body)}::bytea,
        ${delivery.verdict}, 'claimed', 1, ${leaseEnd}
      from jsonb_to_recordset(${encode(rows)}::jsonb) as wanted(id text, "organizationId" text)
      on conflict (provider, delivery_id, (coalesce(organization_id, ''))) do update set
        event = excluded.event, headers = excluded.headers, body = excluded.body, verdict = excluded.verdict,
        status = 'claimed', attempts = row.attempts + 1, lease_until = excluded.lease_until,
        reason = null, finished_at = null
      where row.status in ('received', 'failed')
        or (row.status = 'claimed' and row.lease_until < clock_timestamp())
      returning row.id, row.organization_id as "organizationId", row.attempts as attempt`,
  );
}

/** `lease_until` of a failed row says when the sweeper may try again: the wait doubles with each attempt. */
async function fail(db: Database, { id, attempt }: Claim, reason: string): Promise<void> {
  const waitMs = Math.min(limits.deliveryRetryMs * 2 ** (attempt - 1), limits.deliveryRetryMostMs);
  await rowsOf(
    db,
    sql`
      update webhook_deliveries set status = 'failed', reason = ${reason}, finished_at = now(),
        lease_until = clock_timestamp() + make_interval(secs => ${waitMs / 1000})
      where id = ${id} and attempts = ${attempt} and status = 'claimed'`,
  );
}

async function reclaim(db: Database, most: number): Promise<(Claim & { delivery: VerifiedDelivery })[]> {
  const rows = await rowsOf<ReclaimedRow>(
    db,
    sql`
      with given_up as (
        update webhook_deliveries set status = 'failed', reason = 'gave_up', finished_at = now()
        where status = 'claimed' and attempts >= ${limits.deliveryAttempts} and lease_until < clock_timestamp()
      )
      update webhook_deliveries set status = 'claimed', attempts = attempts + 1, lease_until = ${leaseEnd}
      where id in (
        select id from webhook_deliveries
        where status in ('received', 'claimed', 'failed') and attempts < ${limits.deliveryAttempts}
          and (lease_until is null or lease_until < clock_timestamp())
        order by received_at
        limit ${most}
        for update skip locked
      )
      returning id, organization_id, attempts, provider, delivery_id, event, headers, body, verdict`,
  );
  return rows.map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
    attempt: row.attempts,
    delivery: {
      provider: row.provider,
      deliveryId: row.delivery_id,
      event: row.event,
      headers: row.headers,
      body: Uint8Array.from(row.body),
      verdict: row.verdict,
    },
  }));
}

interface ReclaimedRow {
  id: string;
  organization_id: string | null;
  attempts: number;
  provider: string;
  delivery_id: string;
  event: string | null;
  headers: Record<string, string>;
  body: Uint8Array;
  verdict: Trust["by"];
}
