/** The tables of projects: settings, environment, services, and under which names they are reached. */
import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import type { HostHook } from "../domain/git-connection.ts";
import type {
  BuildSettings,
  HealthCheck,
  ProjectKind,
  ProjectLocation,
  ProjectSource,
  Resources,
  ServiceBuild,
} from "../domain/project.ts";
import { at, createdAt } from "./columns.ts";
import { organizations } from "./identity-tables.ts";
import { servers } from "./server-tables.ts";

export const projects = pgTable(
  "projects",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    serverId: text()
      .notNull()
      .references(() => servers.id),
    name: text().notNull(),
    slug: text().notNull(),
    kind: text().$type<ProjectKind>().notNull(),
    source: jsonb().$type<ProjectSource>().notNull(),
    /** `owner/repo` in lower case, for matching deliveries; null where the source is not git. */
    repository: text(),
    branch: text(),
    autoDeploy: boolean().notNull().default(true),
    rebuildAllNext: boolean().notNull().default(false),
    rootDirectory: text(),
    buildStrategy: text().notNull().default("auto"),
    build: jsonb().$type<BuildSettings>().notNull().default({}),
    healthCheck: jsonb().$type<HealthCheck>().notNull().default({}),
    updateStrategy: text().$type<"rolling" | "recreate" | null>(),
    resources: jsonb().$type<Resources>().notNull().default({}),
    /** `name:/path[:ro]`, of an app; services have their own. */
    volumes: jsonb().$type<string[]>().notNull().default([]),
    rollbackWindow: integer().notNull().default(5),
    /** Opaque hint in the registered webhook URL: picks the secret first, never an authority. */
    hookId: text().unique(),
    sealedWebhookSecret: text(),
    /** The webhook that we have made at the git host; null: none, or a person has added it. */
    hostHook: jsonb().$type<HostHook | null>(),
    /** Why the git host takes no commit statuses, since when it last said so; null: it does, or was never asked. */
    statusProblem: text(),
    activeDeploymentId: text(),
    /** `cloud`: promoted to the linked cloud, where it is deployed from then on. */
    location: text().$type<ProjectLocation>().notNull().default("local"),
    cloudProjectId: text(),
    /** The hook id that the cloud has given it: the hint with which its pushes are forwarded there. */
    cloudHookId: text(),
    /** Of a project that came by promotion: its id on the instance that it came from. */
    originProjectId: text(),
    createdAt: createdAt(),
    /** Its removal from the server is under way: it is served and deployed no more, but still there. */
    deletingAt: at(),
    deletedAt: at(),
  },
  (table) => [
    index("projects_organization").on(table.organizationId, table.createdAt),
    index("projects_repository").on(table.repository).where(sql`deleted_at is null`),
    index("projects_server").on(table.serverId),
    index("projects_connection").on(sql`(source ->> 'connectionId')`).where(sql`deleted_at is null`),
    uniqueIndex("projects_slug").on(table.slug).where(sql`deleted_at is null`),
    // A promotion that is tried again finds what the first try made.
    uniqueIndex("projects_origin")
      .on(table.organizationId, table.originProjectId)
      .where(sql`deleted_at is null`),
  ],
);

export const projectEnv = pgTable(
  "project_env",
  {
    projectId: text()
      .notNull()
      .references(() => projects.id),
    key: text().notNull(),
    sealedValue: text().notNull(),
    /** Keyed hash of the value, so that a change shows without showing the value. */
    fingerprint: text().notNull(),
    updatedAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.projectId, table.key] })],
);

/** The parts of a project of kind compose or monorepo. */
export const projectServices = pgTable(
  "project_services",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    projectId: text()
      .notNull()
      .references(() => projects.id),
    name: text().notNull(),
    /** Either an image or a build, never both. */
    image: text(),
    build: jsonb().$type<ServiceBuild | null>(),
    /** The lists in the short forms of compose files. */
    ports: jsonb().$type<string[]>().notNull().default([]),
    dependsOn: jsonb().$type<string[]>().notNull().default([]),
    volumes: jsonb().$type<string[]>().notNull().default([]),
    watchPaths: jsonb().$type<string[]>().notNull().default([]),
    command: text(),
    healthCheck: jsonb().$type<HealthCheck>().notNull().default({}),
    updateStrategy: text().$type<"rolling" | "recreate" | null>(),
    resources: jsonb().$type<Resources>().notNull().default({}),
    /** All of its variables as one value. */
    sealedEnvironment: text().notNull(),
    createdAt: createdAt(),
  },
  (table) => [uniqueIndex("project_services_name").on(table.projectId, sql`lower(name)`)],
);

export const domains = pgTable(
  "domains",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    projectId: text()
      .notNull()
      .references(() => projects.id),
    /** Unique on the instance: two projects can never fight over one name. */
    hostname: text().notNull().unique(),
    port: integer(),
    targetPath: text(),
    redirectTo: text(),
    createdAt: createdAt(),
  },
  (table) => [index("domains_project").on(table.projectId)],
);

/**
 * What the proxy of a server goes on serving for projects that were released. A name is free for others at once: a
 * live project with the same one wins.
 */
export const releasedRoutes = pgTable(
  "released_routes",
  {
    serverId: text()
      .notNull()
      .references(() => servers.id),
    hostname: text().notNull(),
    projectId: text()
      .notNull()
      .references(() => projects.id),
    targetPath: text(),
    redirectTo: text(),
    /** Loopback port of the container that was left running. */
    upstreamPort: integer().notNull(),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.serverId, table.hostname] })],
);
