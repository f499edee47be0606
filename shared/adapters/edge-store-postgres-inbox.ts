/** The delivery inbox in Postgres: what is linked to a repository, failed deliveries, and those to be tried again. */
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import type { Gather } from "../db/in-batches.ts";
import type { DeliveryReplay } from "../domain/delivery.ts";
import { limits } from "../domain/limits.ts";
import { encode, type RowsByName, rowsOf, type Together } from "../operations/statements.ts";
import type {
  Claim,
  HookedProject,
  InboxStore,
  LinkedProject,
  Reclaimed,
  Trust,
  VerifiedDelivery,
} from "../ports/edge-store.ts";
import { claimInBatches, leaseEnd } from "./edge-store-postgres-claim.ts";
import { hookedBy } from "./edge-store-postgres-hooked.ts";
import { reportRejected } from "./edge-store-postgres-rejected.ts";
import { settle } from "./edge-store-postgres-settle.ts";

interface Ways {
  together: Together;
  gather: Gather;
  rowsByName: RowsByName;
}

export function createPostgresInbox(db: Database, { together, gather, rowsByName }: Ways): InboxStore {
  return {
    hookedProjects: hookedProjects(rowsByName, gather),
    linkedProjects: (repository, trust) => linkedProjects(db, repository, trust),
    claim: claimInBatches(rowsByName, gather),
    settle: (claimed, plan) => settle(together, claimed, plan),
    fail: (claimed, reason) => fail(db, claimed, reason),
    reportRejected: (repository) => reportRejected(db, repository),
    reclaim: (most) => reclaim(db, most),
    endClaimsOfTheDead: () => endClaimsOfTheDead(db),
    replay: (id, asked) => replay(db, id, asked),
  };
}

/** Those who ask at the same moment share one statement, and one answer where they ask the same. */
function hookedProjects(rowsByName: RowsByName, gather: Gather): InboxStore["hookedProjects"] {
  type Wanted = Parameters<InboxStore["hookedProjects"]>;
  const ask = gather(async (wanted: readonly Wanted[]): Promise<HookedProject[][]> => {
    const keys = wanted.map(encode);
    const distinct = [...new Set(keys)];
    const rows = await rowsByName<HookedProject & { place: number }>(
      "hooked-projects",
      sql`
        select place::int as place, project.*
        from jsonb_array_elements(${`[${distinct.join()}]`}::jsonb) with ordinality as wanted(row, place),
          lateral (${hookedBy(sql`wanted.row`)}) as project`,
    );
    return keys.map((key) =>
      rows.flatMap(({ place, ...project }) => (distinct[place - 1] === key ? [project] : [])),
    );
  }, limits.deliveryBatch);
  return (...wanted) => ask(wanted);
}

function linkedProjects(db: Database, repository: string, trust: Trust): Promise<LinkedProject[]> {
  return rowsOf<LinkedProject>(
    db,
    sql`
      select id, organization_id as "organizationId", kind, auto_deploy as "autoDeploy", branch, location
      from projects
      where repository = ${repository} and deleted_at is null and deleting_at is null and ${actingFor(trust)}
      order by id`,
  );
}

function actingFor(trust: Trust): SQL {
  return trust.by === "instance_secret"
    ? sql`sealed_webhook_secret is null`
    : sql`organization_id = any(${sql.param(trust.organizationIds)}::text[])`;
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

async function reclaim(db: Database, most: number): Promise<Reclaimed[]> {
  const rows = await rowsOf<ReclaimedRow>(
    db,
    sql`
      with given_up as (
        update webhook_deliveries set status = 'failed', reason = 'gave_up', finished_at = now()
        where status = 'claimed' and not forwarding and attempts >= ${limits.deliveryAttempts} and lease_until < clock_timestamp()
      )
      update webhook_deliveries set status = 'claimed', attempts = attempts + 1, lease_until = ${leaseEnd}
      where id in (
        select id from webhook_deliveries
        where status in ('received', 'claimed', 'failed') and not forwarding and attempts < ${limits.deliveryAttempts}
          and (lease_until is null or lease_until < clock_timestamp())
        order by received_at
        limit ${most}
        for update skip locked
      )
      returning ${reclaimedColumns}`,
  );
  return rows.map(reclaimed);
}

/** A lease that is over, not one that is absent: what had its last attempt is given up, and a person can replay it. */
async function endClaimsOfTheDead(db: Database): Promise<void> {
  await rowsOf(db, sql`update webhook_deliveries set lease_until = now() where status = 'claimed'`);
}

/**
 * Neither a handler under way nor the sweeper's next try is disturbed: there is one owner, whoever takes the claim. One for
 * some projects only waits until the delivery has come to its end for all, since it would be the end for the others too.
 */
async function replay(db: Database, id: string, asked: DeliveryReplay): Promise<Reclaimed | null> {
  const [row] = await rowsOf<ReclaimedRow>(
    db,
    sql`
      update webhook_deliveries set status = 'claimed', attempts = attempts + 1, lease_until = ${leaseEnd},
        replay = ${encode(asked)}::jsonb, finished_at = null, forwarding = false
      where id = ${id} and ${asked.projectIds === null ? mayBeTaken : hasEnded}
      returning ${reclaimedColumns}`,
  );
  return row === undefined ? null : reclaimed(row);
}

const mayBeTaken = sql`(status <> 'claimed' or lease_until < clock_timestamp())`;
const hasEnded = sql`
  (status in ('done', 'ignored') or (status = 'failed' and attempts >= ${limits.deliveryAttempts}))`;

type ReclaimedRow = Claim & { replay: DeliveryReplay | null } & VerifiedDelivery;

const reclaimedColumns = sql`id, organization_id as "organizationId", attempts as attempt, replay, provider,
  delivery_id as "deliveryId", event, repository, branch, commit_sha as "commitSha", headers, body, verdict`;

function reclaimed({ id, organizationId, attempt, replay: asked, ...delivery }: ReclaimedRow): Reclaimed {
  const body = Uint8Array.from(delivery.body);
  return { id, organizationId, attempt, replay: asked, delivery: { ...delivery, body } };
}
