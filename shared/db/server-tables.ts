/** The table of managed servers: how each is reached, and what was found there. */
import { bigint, index, integer, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import { at, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";

export const servers = pgTable(
  "servers",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    host: text().notNull(),
    port: integer().notNull(),
    user: text("ssh_user").notNull(),
    authKind: text().$type<"key" | "password" | "generated">().notNull(),
    sealedCredential: text().notNull(),
    /** OpenSSH public half of a generated key, for a person to install. */
    publicKey: text(),
    hostKey: text().notNull(),
    httpPort: integer().notNull().default(80),
    httpsPort: integer().notNull().default(443),
    /** Bumped by every change of address or credential: the pool then drops old connections. */
    revision: integer().notNull().default(1),
    /** Bumped by every change of routes; a server refuses a proxy configuration older than the one it has. */
    proxyRevision: bigint({ mode: "number" }).notNull().default(0),
    /** Last answers of check and bootstrap. */
    lastCheck: jsonb().$type<Record<string, unknown> | null>(),
    bootstrappedAt: at(),
    createdAt: createdAt(),
    deletedAt: at(),
  },
  (table) => [index("servers_organization").on(table.organizationId, table.createdAt)],
);
