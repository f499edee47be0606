/**
 * Stores deliveries: claims that only one can win. Those of one moment share one statement and one commit, which is what
 * a busy inbox waits for; each has rows of its own. A delivery that brings nothing is stored with its outcome.
 */
import { sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import type { Gather } from "../db/in-batches.ts";
import { newId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { encode, rowsOf } from "../operations/statements.ts";
import type { Claim, DeliveryPlan, InboxStore, VerifiedDelivery } from "../ports/edge-store.ts";

export const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${limits.deliveryLeaseMs / 1000})`;

interface Wanted {
  delivery: VerifiedDelivery;
  organizationIds: readonly (string | null)[];
  ignored: ReadonlyMap<string | null, DeliveryPlan>;
}

interface ClaimedRow extends Claim {
  key: string;
}

export function claimInBatches(db: Database, gather: Gather): InboxStore["claim"] {
  const store = async (wanted: readonly Wanted[]): Promise<Claim[][]> => {
    const rows = rowsToClaim(wanted);
    const claimed = new Map((await insert(db, wanted, rows)).map(({ key, ...claim }) => [key, claim]));
    const won = rows.flatMap(({ place, key }) => {
      const claim = claimed.get(key);
      return claim === undefined ? [] : [{ place, claim }];
    });
    return wanted.map((_, place) => won.flatMap((each) => (each.place === place ? [each.claim] : [])));
  };
  const together = gather(store, limits.deliveryBatch);
  return async (delivery, organizationIds, ignored = new Map()) => {
    const wanted = { delivery, organizationIds, ignored };
    if (delivery.body.length <= limits.deliveryBatchBodyBytes) return together(wanted);
    return (await store([wanted])).flat();
  };
}

/** Of copies in one batch the first one gets the row: the others came a moment later. */
function rowsToClaim(wanted: readonly Wanted[]) {
  const keys = new Set<string>();
  return wanted.flatMap(({ delivery, organizationIds, ignored }, place) =>
    organizationIds.flatMap((organizationId) => {
      const { body: _, ...said } = delivery;
      const { provider, deliveryId } = said;
      const key = `${provider} ${organizationId ?? ""} ${deliveryId}`;
      if (keys.has(key)) return [];
      keys.add(key);
      const plan = ignored.get(organizationId);
      const outcome = { status: plan === undefined ? "claimed" : "ignored", reason: plan?.reason ?? null };
      const row = { key, place, id: newId("delivery"), organizationId, ...said };
      return [{ ...row, ...outcome, outcomes: plan?.outcomes ?? [] }];
    }),
  );
}

/** In one order, so that two processes cannot wait for each other's rows. */
function insert(db: Database, wanted: readonly Wanted[], rows: ReturnType<typeof rowsToClaim>) {
  const bodies = wanted.map(
    ({ delivery }, place) => sql`(${place}::int, ${sql.param(delivery.body)}::bytea)`,
  );
  return rowsOf<ClaimedRow>(
    db,
    sql`
      insert into webhook_deliveries as row (
        id, organization_id, provider, delivery_id, event, repository, branch, commit_sha, headers, body, verdict,
        attempts, status, reason, outcomes, lease_until, finished_at
      )
      select id, "organizationId", provider, "deliveryId", event, repository, branch, "commitSha", headers, body,
        verdict, 1, status, reason, outcomes,
        case status when 'claimed' then ${leaseEnd} end, case status when 'ignored' then now() end
      from jsonb_to_recordset(${encode(rows)}::jsonb) as wanted(
        key text, place int, id text, "organizationId" text, provider text, "deliveryId" text, event text,
        repository text, branch text, "commitSha" text, headers jsonb, verdict text, status text, reason text, outcomes jsonb
      )
      join (values ${sql.join(bodies, sql`, `)}) as bodies(place, body) using (place)
      order by key
      on conflict (provider, delivery_id, (coalesce(organization_id, ''))) do update set
        event = excluded.event, repository = excluded.repository, branch = excluded.branch,
        commit_sha = excluded.commit_sha, headers = excluded.headers, body = excluded.body,
        verdict = excluded.verdict, replay = null, status = excluded.status, attempts = row.attempts + 1,
        lease_until = excluded.lease_until, reason = excluded.reason, outcomes = excluded.outcomes,
        finished_at = excluded.finished_at, forwarding = false
      where row.status = 'failed' or (row.status = 'received' and not row.forwarding)
        or (row.status = 'claimed' and row.lease_until < clock_timestamp())
      returning row.id, row.organization_id as "organizationId", row.attempts as attempt,
        row.provider || ' ' || coalesce(row.organization_id, '') || ' ' || row.delivery_id as key`,
  );
}
