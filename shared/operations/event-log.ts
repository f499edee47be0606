/**
 * How the log of an operation is read: by REST, by the stream and by whoever waits for the end, always the same rows.
 * It is only ever appended to, through `change` in statements.ts.
 */
import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/database.ts";
import { operationEvents } from "../db/schema.ts";
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

/** Oldest first. */
export async function readEvents(
  db: Queryable,
  { operationId, since, limit, ...only }: ReadEvents,
): Promise<StoredEvent[]> {
  const wanted: (SQL | undefined)[] = [
    eq(operationEvents.operationId, operationId),
    gt(operationEvents.seq, since),
    only.type === undefined ? undefined : eq(operationEvents.type, only.type),
    only.phase === undefined ? undefined : sql`${operationEvents.data} ->> 'phase' = ${only.phase}`,
  ];
  const rows = await db
    .select({
      seq: operationEvents.seq,
      at: operationEvents.at,
      type: operationEvents.type,
      data: operationEvents.data,
    })
    .from(operationEvents)
    .where(and(...wanted))
    .orderBy(asc(operationEvents.seq))
    .limit(limit);
  return rows.map(({ at, ...row }) => ({ ...row, at: at.toISOString() }));
}
