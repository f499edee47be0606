/** The tables that the edge keeps about requests, of whatever module: first answers, and how often somebody has tried. */
import { index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { at, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";

/** The first answer to a request with an Idempotency-Key. A row without one is a request that is under way, or was cut off. */
export const idempotencyAnswers = pgTable(
  "idempotency_answers",
  {
    /** Token or session. */
    credentialId: text().notNull(),
    /** SHA-256 of the key, hex. */
    keyHash: text().notNull(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    /** SHA-256 over method, path, query and body, hex. */
    requestHash: text().notNull(),
    sealedAnswer: text(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.credentialId, table.keyHash] }),
    index("idempotency_answers_age").on(table.createdAt),
  ],
);

/** How often a source, a token or an account has tried in its window: the one count of all processes. */
export const rateWindows = pgTable(
  "rate_windows",
  {
    key: text().primaryKey(),
    /** One beyond the limit stands for any number of refused tries. */
    taken: integer().notNull(),
    endsAt: at().notNull(),
  },
  (table) => [index("rate_windows_end").on(table.endsAt)],
);
