/**
 * The one statement that every change of an operation goes through: it moves the row, numbers and stores the events
 * and tells the followers, or does nothing at all where its condition does not hold. Numbers have no gaps because they
 * are handed out under the lock of the row. Rejected: a sequence (gaps after every rollback), and reading
 * `next_seq` first (two round trips for each batch of lines).
 */
import { type SQL, sql } from "drizzle-orm";
import type { Database, Queryable } from "../db/database.ts";
import { channels } from "./channels.ts";
import type { NewEvent } from "./definition.ts";

export interface Change {
  /** Assignments beside `next_seq`. */
  set: SQL;
  /** Which row, and under which condition. */
  where: SQL;
  events: readonly NewEvent[];
}

/** Runs a change; answers false where the condition did not hold and nothing was written. */
export async function change(db: Queryable, { set, where, events }: Change): Promise<boolean> {
  const rows = await rowsOf<{ changed: boolean }>(
    db,
    sql`
      with changed as (
        update operations set next_seq = next_seq + ${events.length}::int, ${set}
        where ${where}
        returning id, next_seq - ${events.length}::int as first
      ), logged as (
        insert into operation_events (operation_id, seq, at, type, data)
        select changed.id, changed.first + e.place - 1, clock_timestamp(), e.event ->> 'type', e.event -> 'data'
        from changed, jsonb_array_elements(${encode(events)}::jsonb) with ordinality as e(event, place)
      )
      select true as changed, pg_notify(${channels.events}, id) from changed`,
  );
  return rows.length > 0;
}

/** The holder of the lease, and nobody else, as long as it lasts by the database's clock. */
export function heldBy(operationId: string, leaseToken: number): SQL {
  return sql`id = ${operationId} and lease_token = ${leaseToken}::bigint and not final and lease_until > clock_timestamp()`;
}

/** JSON for a jsonb parameter. Postgres takes neither NUL nor half a surrogate pair in jsonb: both become U+FFFD. */
export function encode(value: unknown): string {
  const text = JSON.stringify(value);
  // Both are written as escapes; what only looks like one is found as well, and changes nothing below.
  if (!/\\u(0000|d[89a-f])/.test(text)) return text;
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "string" ? inner.toWellFormed().replaceAll("\u0000", "\uFFFD") : inner,
  );
}

/** Rows of a hand-written statement; every driver of drizzle's Postgres dialect answers them in this form. */
export async function rowsOf<Row>(db: Queryable, statement: SQL): Promise<Row[]> {
  const result = (await db.execute(statement)) as { rows: Row[] };
  return result.rows;
}

/** `rowsOf` for a statement whose text never changes, under a name by which a connection may keep it planned. */
export type RowsByName = <Row>(name: string, statement: SQL) => Promise<Row[]>;

/**
 * Statements in one transaction, in their order; answers the rows of the last. None may need the answer of another, so
 * that a driver without interactive transactions can do it too.
 */
export type Together = <Row>(statements: readonly SQL[]) => Promise<Row[]>;

/** `Together` for drivers that hold a connection. */
export function inTransaction(db: Database): Together {
  return async <Row>(statements: readonly SQL[]) => {
    const [only, ...more] = statements;
    if (only !== undefined && more.length === 0) return rowsOf<Row>(db, only);
    return db.transaction(async (tx) => {
      let rows: Row[] = [];
      for (const statement of statements) rows = await rowsOf<Row>(tx, statement);
      return rows;
    });
  };
}
