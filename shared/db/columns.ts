/**
 * Kinds of columns that many tables have. Tables lie in a file for each matter, `…-tables.ts`; Postgres 15 is the floor: no
 * uuidv7(), no virtual columns. Columns named `sealed…` hold ciphertext bound to (organization, table, column, row) and are
 * never returned. Names are camelCase here and snake_case in the database (`casing` of drizzle).
 */
import { customType, timestamp } from "drizzle-orm/pg-core";

export const bytea = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
export const at = () => timestamp({ withTimezone: true, precision: 3 });
export const createdAt = () => at().notNull().defaultNow();
