/**
 * Who works on an operation: the holder of its lease, for 30 s (lease-times.ts) by the database's clock, with a fencing token above that
 * of every holder before. Claiming takes the lease in one transaction with the decision who may start. Rejected: locks
 * of sessions (lost unnoticed behind a pooler) and the clock of the process (two machines never agree).
 */
import { sql } from "drizzle-orm";
import { DrizzleQueryError } from "drizzle-orm/errors";
import type { Database, Queryable, Transaction } from "../db/database.ts";
import { channels } from "./channels.ts";
import type { AnyOperationKind } from "./definition.ts";
import type { Mechanism } from "./mechanism.ts";
import { type Decision, decide, openOperations, orderOfSubject } from "./queue-order.ts";
import { rowsOf } from "./statements.ts";
import { move } from "./transition.ts";

export interface Claimed {
  id: string;
  organizationId: string;
  kind: string;
  subjectId: string;
  state: string;
  progress: Record<string, unknown>;
  leaseToken: number;
  attempt: number;
  cancelRequested: boolean;
  mechanism: Mechanism;
}

export interface ClaimAnswer {
  claimed: Claimed | null;
  /**
   * Why there is no more to do about this id now: `gone` (absent, final or superseded), `foreign` (not a kind of ours)
   * or `busy` (someone works on it, now perhaps we, or its turn has not come).
   */
  why: "gone" | "foreign" | "busy";
}

export interface ClaimRequest {
  kinds: ReadonlyMap<string, AnyOperationKind>;
  id: string;
  owner: string;
  /** How long the lease lasts, or null where there is no room to work: then only what waits in vain is settled. */
  leaseMs: number | null;
}

/** Claims the operation, or the newer one that supersedes it. */
export async function claim(db: Database, request: ClaimRequest): Promise<ClaimAnswer> {
  try {
    return await settleAndTake(db, request);
  } catch (error) {
    // Another of the same subject is in flight: the index has the last word, whatever was decided before.
    if (error instanceof DrizzleQueryError && isViolationOf(error.cause, "operations_one_in_flight")) {
      return { claimed: null, why: "busy" };
    }
    throw error;
  }
}

async function settleAndTake(
  db: Database,
  { kinds, id, owner, leaseMs }: ClaimRequest,
): Promise<ClaimAnswer> {
  return await db.transaction(async (tx) => {
    const row = await orderOfSubject(tx, id);
    const kind = row === null ? undefined : kinds.get(row.kind);
    if (row === null || kind === undefined) {
      return { claimed: null, why: row === null ? "gone" : "foreign" };
    }
    const open = await openOperations(tx, row.subjectId);
    const decision = decide(open, kind, id);
    await supersede(tx, kind, row.subjectId, decision);
    const claimed =
      decision.start === null || leaseMs === null
        ? null
        : await take(tx, decision.start.id, { owner, leaseMs });
    return { claimed, why: open.some((operation) => operation.id === id) ? "busy" : "gone" };
  });
}

function isViolationOf(cause: unknown, constraint: string): boolean {
  return cause instanceof Error && "constraint" in cause && cause.constraint === constraint;
}

async function supersede(tx: Transaction, kind: AnyOperationKind, subjectId: string, decision: Decision) {
  const event = kind.mechanism.superseded;
  for (const { id, state } of event === null ? [] : decision.superseded) {
    const more = {
      error: { code: "superseded", message: "A newer one took its place.", hint: null, logTail: [] },
    };
    await move(tx, {
      kind,
      id,
      subjectId,
      from: state,
      event: event ?? "",
      condition: sql`not in_flight`,
      more,
    });
  }
}

/** The mark tells whether an owner got anywhere: it covers the state and what the story has noted down. */
const mark = sql`md5(state || (progress - 'mechanism')::text)`;

async function take(
  tx: Transaction,
  id: string,
  { owner, leaseMs }: { owner: string; leaseMs: number },
): Promise<Claimed | null> {
  const [row] = await rowsOf<Claimed & { mechanism: Mechanism | null }>(
    tx,
    sql`
      update operations set in_flight = true, attempts = attempts + 1, lease_owner = ${owner},
        lease_token = nextval('lease_tokens'),
        lease_until = clock_timestamp() + ${leaseMs}::int * interval '1 millisecond',
        started_at = coalesce(started_at, clock_timestamp()),
        progress = progress || jsonb_build_object('mechanism',
          coalesce(progress -> 'mechanism', '{}') || jsonb_build_object('mark', ${mark}, 'stalled',
            case when progress -> 'mechanism' ->> 'mark' = ${mark}
              then coalesce((progress -> 'mechanism' ->> 'stalled')::int, 0) + 1 else 1 end))
      where id = ${id} and not final
        and (lease_until is null or lease_until <= clock_timestamp())
        and (run_after is null or run_after <= clock_timestamp())
      returning id, organization_id as "organizationId", kind, subject_id as "subjectId", state,
        progress - 'mechanism' as progress, lease_token::float8 as "leaseToken", attempts as attempt,
        cancel_requested_at is not null as "cancelRequested", progress -> 'mechanism' as mechanism`,
  );
  return row === undefined ? null : { ...row, mechanism: row.mechanism ?? {} };
}

/** Another full lease. Null: it is not ours any more. */
export async function renew(
  db: Queryable,
  id: string,
  leaseToken: number,
  leaseMs: number,
): Promise<{ cancelRequested: boolean } | null> {
  const [row] = await rowsOf<{ cancelRequested: boolean }>(
    db,
    sql`
      update operations set lease_until = clock_timestamp() + ${leaseMs}::int * interval '1 millisecond'
      where id = ${id} and lease_token = ${leaseToken}::bigint and not final
      returning cancel_requested_at is not null as "cancelRequested"`,
  );
  return row ?? null;
}

/** Gives the lease back before its time, so that the next owner need not wait; `planned` does not count as an attempt. */
export async function release(
  db: Queryable,
  id: string,
  leaseToken: number,
  planned: boolean,
): Promise<void> {
  const counted = planned ? sql`, progress = progress #- '{mechanism,mark}'` : sql``;
  await rowsOf(
    db,
    sql`
      with released as (
        update operations set lease_owner = null, lease_until = null ${counted}
        where id = ${id} and lease_token = ${leaseToken}::bigint and not final returning id
      )
      select pg_notify(${channels.due}, id) from released`,
  );
}

/**
 * Ends every lease, so that work goes on at once after a crash. Only for who can prove that nobody else is at work on
 * this database: the guard of the data folder, which holds the embedded one. The fences on servers hold all the same.
 */
export async function endLeasesOfTheDead(db: Queryable): Promise<void> {
  await rowsOf(
    db,
    sql`update operations set lease_owner = null, lease_until = null where not final and lease_until is not null`,
  );
}
