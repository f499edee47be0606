/**
 * Stores deliveries: claims that only one can win. Those of one moment share one statement and one commit, which is what
 * a busy inbox waits for; each has rows of its own. A delivery that brings nothing is stored with its outcome. One that
 * was verified by what the edge remembered is stored only where the same statement finds it unchanged: a delivery then
 * costs one round trip, and a changed secret holds no later than if it had been asked for.
 */
import { sql } from "drizzle-orm";
import type { Gather } from "../db/in-batches.ts";
import { newId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { encode, type RowsByName } from "../operations/statements.ts";
import type { Claim, DeliveryPlan, InboxStore, LookUp, VerifiedDelivery } from "../ports/edge-store.ts";
import { hookedBy } from "./edge-store-postgres-hooked.ts";

export const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${limits.deliveryLeaseMs / 1000})`;

interface Wanted {
  delivery: VerifiedDelivery;
  organizationIds: readonly (string | null)[];
  ignored: ReadonlyMap<string | null, DeliveryPlan>;
  lookUp: LookUp | undefined;
}

interface ClaimedRow extends Claim {
  key: string;
}

/** Of a look-up that would find something else by now. */
interface ChangedRow {
  key: null;
  changed: number;
}

export function claimInBatches(rowsByName: RowsByName, gather: Gather): InboxStore["claim"] {
  const store = async (wanted: readonly Wanted[]): Promise<(Claim[] | "changed")[]> => {
    const questions = wanted.map(({ lookUp }) => asked(lookUp));
    const lookUps = [...new Set(questions)];
    const lookUpOf = questions.map((question) => lookUps.indexOf(question));
    const rows = rowsToClaim(wanted, lookUpOf);
    const answered = await insert(rowsByName, { wanted, rows, lookUps });
    const changed = new Set(answered.map((row) => (row.key === null ? row.changed : null)));
    const claimed = new Map(
      answered.flatMap((row) => {
        if (row.key === null) return [];
        const { id, organizationId, attempt } = row;
        return [[row.key, { id, organizationId, attempt }] as const];
      }),
    );
    const won = rows.flatMap(({ place, key, lookUp }) => {
      const claim = changed.has(lookUp) ? undefined : claimed.get(key);
      if (claim === undefined || !claimed.delete(key)) return [];
      return [{ place, claim }];
    });
    return wanted.map((_, place) =>
      changed.has(lookUpOf[place] ?? null)
        ? "changed"
        : won.flatMap((each) => (each.place === place ? [each.claim] : [])),
    );
  };
  const together = gather(store, limits.deliveryBatch);
  return async (delivery, organizationIds, ignored = new Map(), lookUp = undefined) => {
    const wanted = { delivery, organizationIds, ignored, lookUp };
    if (delivery.body.length <= limits.deliveryBatchBodyBytes) return together(wanted);
    const [claims] = await store([wanted]);
    return claims ?? [];
  };
}

/** As the statement takes it: the question, and behind it the answer of then. */
function asked(lookUp: LookUp | undefined): string {
  if (lookUp === undefined) return "null";
  const { repository, hookId, most, projects } = lookUp;
  return encode([repository, hookId, most, projects]);
}

/**
 * Of copies in one batch the first one gets the row: the others came a moment later. Copies that were looked up
 * differently stand beside each other, since one may hold and the other not; the statement takes the first that does.
 */
function rowsToClaim(wanted: readonly Wanted[], lookUpOf: readonly number[]) {
  const seen = new Set<string>();
  let end = 0;
  return wanted.flatMap(({ delivery, organizationIds, ignored }, place) => {
    const { body, ...said } = delivery;
    const bytes = { start: end + 1, length: body.length };
    end += body.length;
    return organizationIds.flatMap((organizationId) => {
      const { provider, deliveryId } = said;
      const key = `${provider} ${organizationId ?? ""} ${deliveryId}`;
      const lookUp = lookUpOf[place] ?? 0;
      if (seen.has(`${lookUp} ${key}`)) return [];
      seen.add(`${lookUp} ${key}`);
      const plan = ignored.get(organizationId);
      const outcome = { status: plan === undefined ? "claimed" : "ignored", reason: plan?.reason ?? null };
      const row = { key, place, lookUp, id: newId("delivery"), organizationId, ...said, ...bytes };
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

interface Batch {
  wanted: readonly Wanted[];
  rows: ReturnType<typeof rowsToClaim>;
  lookUps: readonly string[];
}

/**
 * In one order, so that two batches cannot wait for each other's rows. The bodies are one parameter, one behind the
 * other: the text is the same for any number of them, and can be planned once.
 */
function insert(
  rowsByName: RowsByName,
  { wanted, rows, lookUps }: Batch,
): Promise<(ClaimedRow | ChangedRow)[]> {
  const bodies = joined(wanted.map(({ delivery }) => delivery.body));
  return rowsByName(
    "claim-deliveries",
    sql`
      with look_up as materialized (
        select place::int - 1 as place,
          jsonb_typeof(asked) = 'null' or asked -> 3 is not distinct from (
            select coalesce(jsonb_agg(to_jsonb(project)), '[]') from (${hookedBy(sql`asked`)}) as project
          ) as holds
        from jsonb_array_elements(${`[${lookUps.join()}]`}::jsonb) with ordinality as each(asked, place)
      ), stored as (
        insert into webhook_deliveries as row (
          id, organization_id, provider, delivery_id, event, repository, branch, commit_sha, headers, body, verdict,
          attempts, status, reason, outcomes, lease_until, finished_at
        )
        select id, "organizationId", provider, "deliveryId", event, repository, branch, "commitSha", headers,
          substring(bodies.bytes from start for length), verdict, 1, status, reason, outcomes,
          case status when 'claimed' then ${leaseEnd} end, case status when 'ignored' then now() end
        from (
          select distinct on (key) wanted.*
          from jsonb_to_recordset(${encode(rows)}::jsonb) as wanted(
            key text, place int, "lookUp" int, start int, length int, id text, "organizationId" text, provider text,
            "deliveryId" text, event text, repository text, branch text, "commitSha" text, headers jsonb, verdict text,
            status text, reason text, outcomes jsonb
          )
          join look_up on look_up.place = "lookUp" and holds
          order by key, wanted.place
        ) as wanted
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
          row.provider || ' ' || coalesce(row.organization_id, '') || ' ' || row.delivery_id as key
      )
      select id, "organizationId", attempt, key, null::int as changed from stored
      union all
      select null, null, null, null, place from look_up where not holds`,
  );
}
