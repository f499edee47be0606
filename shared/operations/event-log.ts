/**
 * How the log of an operation is read: by REST, by the stream and by whoever waits for the end, always the same rows.
 * It is only ever appended to, through `change` in statements.ts. Reads ask for a range of seqs, which has no gaps, so
 * that they cost the same in a log of any length: with a mere `limit` the planner, which knows nothing of a log
 * written just now, sorts all of it for every page (measured: 400 ms a page at 100,000 lines instead of 0.5).
 */
import { and, asc, eq, gt, lte, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/database.ts";
import { operationEvents, operations } from "../db/operation-tables.ts";
import type { StoredEvent } from "./definition.ts";

export interface ReadEvents {
  operationId: string;
  /** Only events with a seq above this one. */
  since: number;
  limit: number;
  /** Only events of this type. */
  type?: string;
  /** Only events whose data say this phase. */
  phase?: string | undefined;
}

/** Seqs looked through at once for those of a type or phase. */
const windowSeqs = 5_000;

/** Oldest first. */
export async function readEvents(db: Queryable, { operationId, since, limit, ...only }: ReadEvents) {
  if (only.type === undefined && only.phase === undefined) {
    return await readRange(db, operationId, since, since + limit, []);
  }
  const wanted = [
    only.type === undefined ? undefined : eq(operationEvents.type, only.type),
    only.phase === undefined ? undefined : sql`${operationEvents.data} ->> 'phase' = ${only.phase}`,
  ];
  const events: StoredEvent[] = [];
  const head = await headOf(db, operationId);
  for (let from = since; from < head && events.length < limit; from += windowSeqs) {
    events.push(...(await readRange(db, operationId, from, from + windowSeqs, wanted)));
  }
  return events.slice(0, limit);
}

/** The last events of a type and phase, oldest first; looked for among the last few thousand. */
export async function readLastEvents(
  db: Queryable,
  { operationId, limit, type, phase }: { operationId: string; limit: number; type: string; phase?: string },
): Promise<StoredEvent[]> {
  const head = await headOf(db, operationId);
  const wanted = [
    eq(operationEvents.type, type),
    phase === undefined ? undefined : sql`${operationEvents.data} ->> 'phase' = ${phase}`,
  ];
  const events = await readRange(db, operationId, head - windowSeqs, head, wanted);
  return events.slice(-limit);
}

async function readRange(
  db: Queryable,
  operationId: string,
  above: number,
  upTo: number,
  wanted: (SQL | undefined)[],
): Promise<StoredEvent[]> {
  const { seq, at, type, data } = operationEvents;
  const rows = await db
    .select({ seq, at, type, data })
    .from(operationEvents)
    .where(and(eq(operationEvents.operationId, operationId), gt(seq, above), lte(seq, upTo), ...wanted))
    .orderBy(asc(seq));
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
}

async function headOf(db: Queryable, operationId: string): Promise<number> {
  const [row] = await db
    .select({ nextSeq: operations.nextSeq })
    .from(operations)
    .where(eq(operations.id, operationId));
  return row === undefined ? 0 : row.nextSeq - 1;
}
