/** The tables of accounts elsewhere: git hosts, registries, and the cloud with what was made there through this instance. */
import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import type { GitConnectionKind } from "../domain/git-connection.ts";
import { at, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";
import { projects } from "./project-tables.ts";

/** Credentials for private repositories. */
export const gitConnections = pgTable(
  "git_connections",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    provider: text().$type<"git_host">().notNull(),
    /** The secret is sent nowhere else. */
    baseUrl: text().notNull(),
    kind: text().$type<GitConnectionKind>().notNull(),
    sealedSecret: text().notNull(),
    /** Of the token, or of the fingerprint of the key: for a person to tell which one it is. */
    last4: text().notNull(),
    /** Of a deploy key's host. */
    hostKey: text(),
    createdAt: createdAt(),
    deletedAt: at(),
  },
  (table) => [index("git_connections_organization").on(table.organizationId, table.id)],
);

/** Credentials for private images, used by every build of the organization that names the registry. */
export const registries = pgTable(
  "registries",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    /** `registry.example.com[:port]`; the secret is sent nowhere else. */
    host: text().notNull(),
    username: text().notNull(),
    sealedSecret: text().notNull(),
    /** Of the secret, for a person to tell which one it is; empty for a short one. */
    last4: text().notNull(),
    createdAt: createdAt(),
    deletedAt: at(),
  },
  (table) => [
    index("registries_organization").on(table.organizationId, table.id),
    // An engine is given one credential a host.
    uniqueIndex("registries_host").on(table.organizationId, table.host).where(sql`deleted_at is null`),
  ],
);

/** The account in the cloud that an organization of a self-hosted instance has linked; at most one. */
export const cloudLinks = pgTable("cloud_links", {
  organizationId: text()
    .primaryKey()
    .references(() => organizations.id),
  /** Origin of the cloud; the token is bound to it and sent nowhere else. */
  url: text().notNull(),
  sealedToken: text().notNull(),
  last4: text().notNull(),
  /** Whose account it is there, as the cloud said it. */
  cloudOrganizationId: text().notNull(),
  cloudOrganizationName: text().notNull(),
  createdAt: createdAt(),
  updatedAt: createdAt(),
});

/** Ids of the cloud that came back through this instance, so that they are found by themselves. */
export const cloudResources = pgTable(
  "cloud_resources",
  {
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    kind: text().$type<"deployment">().notNull(),
    id: text().notNull(),
    /** The project here: whoever does not see it does not see this either. */
    projectId: text()
      .notNull()
      .references(() => projects.id),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.kind, table.id] })],
);
