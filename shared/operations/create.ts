/**
 * How an operation comes to be: one row and its first event, inside the transaction of whoever needs the work done, so
 * that there is never a deployment without its work nor work without its deployment. Runners hear of it at commit.
 */
import { sql } from "drizzle-orm";
import type { Queryable } from "../db/database.ts";
import { operations } from "../db/operation-tables.ts";
import { channels } from "./channels.ts";
import { encode, rowsOf } from "./statements.ts";

export interface NewOperation {
  id: string;
  organizationId: string;
  /** `kind` of its `OperationKind`. */
  kind: string;
  /** What it works on; at most one operation of a subject is in flight. */
  subjectId: string;
  /** The initial state of the kind. */
  state: string;
  /** The user, or null for the platform itself. */
  createdBy: string | null;
  /** Not before this time. */
  runAfter?: Date;
  progress?: Record<string, unknown>;
}

/** Inserts the row with event 1, `status`, and nudges the runners when the transaction commits. */
export async function insertOperation(tx: Queryable, operation: NewOperation): Promise<void> {
  const { progress = {}, runAfter = null, ...row } = operation;
  await tx.insert(operations).values({ ...row, progress, runAfter, nextSeq: 2 });
  await rowsOf(
    tx,
    sql`
      with logged as (
        insert into operation_events (operation_id, seq, at, type, data)
        values (${operation.id}, 1, clock_timestamp(), 'status', ${encode({ status: operation.state })}::jsonb)
      )
      select pg_notify(${channels.events}, ${operation.id}), pg_notify(${channels.due}, ${operation.id})`,
  );
}
