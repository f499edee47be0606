/**
 * Which of the operations of one subject may start: none while another is in flight; of a kind that supersedes, the
 * newest, and the older ones are over at once; of other kinds, the one that was asked for. A pure decision over the
 * open rows, taken while nobody else decides for the same subject.
 */
import { sql } from "drizzle-orm";
import type { Transaction } from "../db/database.ts";
import type { AnyOperationKind } from "./definition.ts";
import { allows } from "./state-table.ts";
import { rowsOf } from "./statements.ts";

export interface OpenOperation {
  id: string;
  kind: string;
  state: string;
  inFlight: boolean;
}

export interface Decision {
  /** Replaced by a newer one. */
  superseded: OpenOperation[];
  /** May be claimed now, as far as its neighbours are concerned. */
  start: OpenOperation | null;
}

/** `open` are the operations of the subject that are not final, oldest first. */
export function decide(open: readonly OpenOperation[], kind: AnyOperationKind, id: string): Decision {
  const asked = open.find((operation) => operation.id === id);
  if (asked === undefined || asked.inFlight) {
    return { superseded: [], start: asked ?? null };
  }
  const waiting = open.filter((operation) => !operation.inFlight && operation.kind === kind.kind);
  const newest = kind.mechanism.superseded === null ? asked : (waiting.at(-1) ?? asked);
  const superseded = waiting.filter(
    (operation) => operation !== newest && allows(kind.states, operation.state, kind.mechanism.superseded),
  );
  const busy = open.some((operation) => operation.inFlight);
  return { superseded, start: busy ? null : newest };
}

/**
 * Takes the turn to decide for the subject of this operation, until the transaction ends, and answers that subject.
 * An advisory lock, because the rows to decide about include ones that do not exist yet.
 */
export async function orderOfSubject(
  tx: Transaction,
  id: string,
): Promise<{ kind: string; subjectId: string } | null> {
  const [row] = await rowsOf<{ kind: string; subjectId: string }>(
    tx,
    sql`
      select kind, subject_id as "subjectId", pg_advisory_xact_lock(hashtextextended('operations of ' || subject_id, 0))
      from operations where id = ${id}`,
  );
  return row ?? null;
}

/** Open operations of a subject, oldest first. */
export async function openOperations(tx: Transaction, subjectId: string): Promise<OpenOperation[]> {
  return await rowsOf<OpenOperation>(
    tx,
    sql`
      select id, kind, state, in_flight as "inFlight" from operations
      where subject_id = ${subjectId} and not final order by created_at, id`,
  );
}
