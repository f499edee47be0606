/**
 * The database as use cases see it: drizzle's Postgres dialect, whatever driver lies under it. Opened in
 * shared/adapters/postgres.ts; nothing else in the product knows the driver.
 */

import type { ExtractTablesWithRelations } from "drizzle-orm";
import type { PgDatabase, PgQueryResultHKT, PgTransaction } from "drizzle-orm/pg-core";
import type * as notificationTables from "./notification-tables.ts";
import type * as schema from "./schema.ts";

type Schema = typeof schema & typeof notificationTables;

export type Database = PgDatabase<PgQueryResultHKT, Schema, ExtractTablesWithRelations<Schema>>;
export type Transaction = PgTransaction<PgQueryResultHKT, Schema, ExtractTablesWithRelations<Schema>>;
/** Either: for statements that may stand alone or inside a transaction. */
export type Queryable = Database | Transaction;

/** LISTEN on a channel of the database; calls back for every NOTIFY, and once after every reconnect (something may have been missed). */
export interface Listener {
  listen(channel: string, onMessage: (payload: string | null) => void, signal: AbortSignal): void;
}
