/** Keyset pages over ids, which sort by time: newest first, no offset, stable while rows are added. */
import { lt, type SQL } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** The condition for rows behind the cursor. Ask for `limit + 1` rows, newest first, and give them to `toPage`. */
export function behindCursor(column: PgColumn, page: PageRequest): SQL | undefined {
  return page.cursor === undefined ? undefined : lt(column, page.cursor);
}

/** Cuts `limit + 1` rows to a page; `nextCursor` is the id of its last row while there is more. */
export function toPage<Row extends { id: string }, Out>(
  rows: Row[],
  page: PageRequest,
  shape: (row: Row) => Out,
) {
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  return { data: shown.map(shape), nextCursor: last?.id ?? null };
}
