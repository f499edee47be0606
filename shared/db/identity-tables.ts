/** The tables of people: organizations, who belongs to them and with what right, how they sign in, and what they did. */
import { index, jsonb, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import type { Permission, Role } from "../domain/permission.ts";
import { at, createdAt } from "./columns.ts";

export const organizations = pgTable("organizations", {
  id: text().primaryKey(),
  name: text().notNull(),
  /** Pushes are attributed to this owner. */
  primaryOwnerId: text().notNull(),
  createdAt: createdAt(),
});

export const users = pgTable("users", {
  id: text().primaryKey(),
  email: text().notNull().unique(),
  name: text().notNull(),
  /** argon2id in PHC form. */
  passwordHash: text(),
  createdAt: createdAt(),
});

export const memberships = pgTable(
  "memberships",
  {
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    userId: text()
      .notNull()
      .references(() => users.id),
    role: text().$type<Role>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.userId] })],
);

export const tokens = pgTable(
  "tokens",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    userId: text()
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    /** SHA-256 of the token, hex. The token itself is shown once. */
    hash: text().notNull().unique(),
    /** null: all that the maker may do. */
    permissions: jsonb().$type<Permission[] | null>(),
    projectIds: jsonb().$type<string[] | null>(),
    serverIds: jsonb().$type<string[] | null>(),
    expiresAt: at(),
    lastUsedAt: at(),
    revokedAt: at(),
    createdAt: createdAt(),
  },
  (table) => [index("tokens_organization").on(table.organizationId, table.createdAt)],
);

/** A person who is signed in, in one browser. It belongs to no organization: each request picks one of the person's. */
export const sessions = pgTable(
  "sessions",
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id),
    /** SHA-256 of the cookie's value, hex. */
    hash: text().notNull().unique(),
    createdAt: createdAt(),
    /** Moves on with each use. */
    expiresAt: at().notNull(),
    revokedAt: at(),
  },
  (table) => [index("sessions_user").on(table.userId), index("sessions_expiry").on(table.expiresAt)],
);

/** One-time links that make somebody a member. */
export const invitations = pgTable(
  "invitations",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    email: text().notNull(),
    role: text().$type<Role>().notNull(),
    /** SHA-256 of the token in the link, hex. */
    hash: text().notNull().unique(),
    invitedBy: text()
      .notNull()
      .references(() => users.id),
    createdAt: createdAt(),
    expiresAt: at().notNull(),
    acceptedAt: at(),
    revokedAt: at(),
  },
  (table) => [index("invitations_organization").on(table.organizationId, table.id)],
);

export const auditEntries = pgTable(
  "audit_entries",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    userId: text(),
    credentialId: text(),
    sourceIp: text(),
    requestId: text(),
    action: text().notNull(),
    resourceKind: text().notNull(),
    resourceId: text().notNull(),
    /** Names of the fields that changed; never values of secrets. */
    fields: jsonb().$type<string[]>().notNull().default([]),
    createdAt: createdAt(),
  },
  (table) => [index("audit_organization").on(table.organizationId, table.id)],
);
