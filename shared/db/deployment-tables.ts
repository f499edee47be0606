/** The tables of deployments: what each is beyond its operation, what the git host is told, and folders on their way. */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { DeploymentTrigger } from "../domain/deployment.ts";
import type { CommitState } from "../domain/git-connection.ts";
import type { AskedSettings } from "../domain/project.ts";
import { at, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";
import { operations } from "./operation-tables.ts";
import { projects } from "./project-tables.ts";
import { servers } from "./server-tables.ts";

/** What a deployment is beyond its operation; `id` is the id of the operation, whose state is the deployment's status. */
export const deployments = pgTable(
  "deployments",
  {
    id: text()
      .primaryKey()
      .references(() => operations.id),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    projectId: text()
      .notNull()
      .references(() => projects.id),
    serverId: text()
      .notNull()
      .references(() => servers.id),
    trigger: text().$type<DeploymentTrigger>().notNull(),
    branch: text(),
    /** `before` of the push, for telling a duplicate. */
    beforeSha: text(),
    commitSha: text(),
    commitMessage: text(),
    /** Everything it was built and released with, taken when it starts: later changes of the project do not reach it. */
    config: jsonb().$type<Record<string, unknown> | null>(),
    /** Environment of then, sealed as one value. */
    sealedEnv: text(),
    imageId: text(),
    artifact: text().$type<"kept" | "none">().notNull().default("none"),
    /** How a rollback was made. */
    mode: text().$type<"image" | "rebuild" | null>(),
    /** Loopback port of the running container on the server. */
    hostPort: integer(),
    containerPort: integer(),
    urls: jsonb().$type<string[]>().notNull().default([]),
    pinned: boolean().notNull().default(false),
    rollbackOf: text(),
    deliveryId: text(),
    /** The stored upload that it is built from, by its SHA-256; null where the source is git. */
    uploadDigest: text(),
    /** Settings that were given for this deployment alone. */
    asked: jsonb().$type<AskedSettings | null>(),
    createdAt: createdAt(),
  },
  (table) => [
    index("deployments_organization").on(table.organizationId, table.id),
    index("deployments_project").on(table.projectId, table.id),
    index("deployments_upload").on(table.uploadDigest).where(sql`upload_digest is not null`),
    index("deployments_delivery").on(table.deliveryId).where(sql`delivery_id is not null`),
    uniqueIndex("deployments_host_port").on(table.serverId, table.hostPort).where(sql`host_port is not null`),
  ],
);

/**
 * What the git host is to show beside a commit: the outbox of commit statuses. One row a project and commit, since that is
 * what the host shows one of; a newer word replaces one that waits. Times are written by the sender's clock.
 */
export const commitStatuses = pgTable(
  "commit_statuses",
  {
    projectId: text().notNull(),
    commitSha: text().notNull(),
    organizationId: text().notNull(),
    deploymentId: text().notNull(),
    state: text().$type<CommitState>().notNull(),
    description: text().notNull(),
    /** Bumped by every new word. */
    revision: integer().notNull().default(1),
    /** Whether this revision has yet to be sent. */
    open: boolean().notNull().default(true),
    attempts: integer().notNull().default(0),
    /** Of this revision. */
    firstTriedAt: at(),
    notBefore: at(),
    leaseToken: bigint({ mode: "number" }),
    leaseUntil: at(),
    /** When the host was last given something to show. */
    updatedAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.commitSha] }),
    index("commit_statuses_open").on(table.notBefore).where(sql`open`),
  ],
);

/** A folder on its way: holds for an hour, then only the deployments that use the upload keep it. */
export const uploadSessions = pgTable(
  "upload_sessions",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    /** Where given, for this project only. */
    projectId: text().references(() => projects.id),
    createdBy: text().notNull(),
    /** SHA-256 of what is stored; null until the content has come. */
    digest: text(),
    bytes: bigint({ mode: "number" }),
    expiresAt: at().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index("upload_sessions_organization").on(table.organizationId, table.expiresAt),
    index("upload_sessions_expiry").on(table.expiresAt),
  ],
);
