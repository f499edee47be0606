/**
 * The database as use cases see it: drizzle's Postgres dialect, whatever driver lies under it. Opened in
 * shared/adapters/postgres.ts; nothing else in the product knows the driver.
 */

import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";

export type Database = PgDatabase<PgQueryResultHKT>;
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];
/** Either: for statements that may stand alone or inside a transaction. */
export type Queryable = Database | Transaction;

/** LISTEN on a channel of the database; calls back for every NOTIFY, and once after every reconnect (something may have been missed). */
export interface Listener {
  listen(channel: string, onMessage: (payload: string | null) => void, signal: AbortSignal): void;
}
