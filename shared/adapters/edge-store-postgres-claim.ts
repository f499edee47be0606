/**
 * Stores deliveries: claims that only one can win. Those of one moment share one statement and one commit, which is what
 * a busy inbox waits for; each has rows of its own. A delivery that brings nothing is stored with its outcome.
 */
import { sql } from "drizzle-orm";
import type { Gather } from "../db/in-batches.ts";
import { newId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { encode, type RowsByName } from "../operations/statements.ts";
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

export function claimInBatches(rowsByName: RowsByName, gather: Gather): InboxStore["claim"] {
  const store = async (wanted: readonly Wanted[]): Promise<Claim[][]> => {
    const rows = rowsToClaim(wanted);
    const claimed = new Map(
      (await insert(rowsByName, wanted, rows)).map(({ key, ...claim }) => [key, claim]),
    );
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
  let end = 0;
  return wanted.flatMap(({ delivery, organizationIds, ignored }, place) => {
    const { body, ...said } = delivery;
    const bytes = { start: end + 1, length: body.length };
    end += body.length;
    return organizationIds.flatMap((organizationId) => {
      const { provider, deliveryId } = said;
      const key = `${provider} ${organizationId ?? ""} ${deliveryId}`;
      if (keys.has(key)) return [];
      keys.add(key);
      const plan = ignored.get(organizationId);
      const outcome = { status: plan === undefined ? "claimed" : "ignored", reason: plan?.reason ?? null };
      const row = { key, place, id: newId("delivery"), organizationId, ...said, ...bytes };
      return [{ ...row, ...outcome, outcomes: plan?.outcomes ?? [] }];
    });
  });
}

function joined(bodies: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = bodies;
  if (others.length === 0) return first;
  const whole = new Uint8Array(bodies.reduce((length, body) => length + body.length, 0));
  let end = 0;
  for (const body of bodies) {
    whole.set(body, end);
    end += body.length;
  }
  return whole;
}

/**
 * In one order, so that two batches cannot wait for each other's rows. The bodies are one parameter, one behind the
 * other: the text is the same for any number of them, and can be planned once.
 */
function insert(
  rowsByName: RowsByName,
  wanted: readonly Wanted[],
  rows: ReturnType<typeof rowsToClaim>,
): Promise<ClaimedRow[]> {
  const bodies = joined(wanted.map(({ delivery }) => delivery.body));
  return rowsByName<ClaimedRow>(
    "claim-deliveries",
    sql`
      insert into webhook_deliveries as row (
        id, organization_id, provider, delivery_id, event, repository, branch, commit_sha, headers, body, verdict,
        attempts, status, reason, outcomes, lease_until, finished_at
      )
      select id, "organizationId", provider, "deliveryId", event, repository, branch, "commitSha", headers,
        substring(bodies.bytes from start for length), verdict, 1, status, reason, outcomes,
        case status when 'claimed' then ${leaseEnd} end, case status when 'ignored' then now() end
      from jsonb_to_recordset(${encode(rows)}::jsonb) as wanted(
        key text, start int, length int, id text, "organizationId" text, provider text, "deliveryId" text, event text,
        repository text, branch text, "commitSha" text, headers jsonb, verdict text, status text, reason text, outcomes jsonb
      )
      cross join (select ${sql.param(bodies)}::bytea as bytes) as bodies
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
