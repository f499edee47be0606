/**
 * Every table, in one file, because a migration is read against the whole. Postgres 15 is the floor: no uuidv7(), no
 * virtual columns. Columns named `sealed…` hold ciphertext bound to (organization, table, column, row) and are never
 * returned. Names are camelCase here and snake_case in the database (`casing` of drizzle).
 */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  customType,
  index,
  integer,
  jsonb,
  pgSequence,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { DeliveryOutcome, DeliveryReplay, DeliveryStatus, DeliveryVerdict } from "../domain/delivery.ts";
import type { DeploymentTrigger, OperationError } from "../domain/deployment.ts";
import type { CommitState, GitConnectionKind, HostHook } from "../domain/git-connection.ts";
import type { Permission, Role } from "../domain/permission.ts";
import type {
  AskedSettings,
  BuildSettings,
  HealthCheck,
  ProjectKind,
  ProjectLocation,
  ProjectSource,
  Resources,
  ServiceBuild,
} from "../domain/project.ts";

const bytea = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
const at = () => timestamp({ withTimezone: true, precision: 3 });
const createdAt = () => at().notNull().defaultNow();

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

/** Source of fencing tokens: strictly growing over all operations, so that a server can refuse an older owner. */
export const leaseTokens = pgSequence("lease_tokens");

/** All long work (architecture.md section 4): deployments, bootstraps, clean-ups. Changed only through shared/operations. */
export const operations = pgTable(
  "operations",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id),
    kind: text().notNull(),
    /** What it works on (a project, a server). At most one operation of a subject is in flight. */
    subjectId: text().notNull(),
    state: text().notNull(),
    final: boolean().notNull().default(false),
    inFlight: boolean().notNull().default(false),
    /** The seq that the next event gets; the first is 1 and there are no gaps. */
    nextSeq: bigint({ mode: "number" }).notNull().default(1),
    /** What a new owner needs to go on: offsets of followed logs, chosen names, phase. Written in one transaction with events. */
    progress: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    leaseOwner: text(),
    leaseToken: bigint({ mode: "number" }),
    leaseUntil: at(),
    runAfter: at(),
    attempts: integer().notNull().default(0),
    cancelRequestedAt: at(),
    error: jsonb().$type<OperationError | null>(),
    createdBy: text(),
    createdAt: createdAt(),
    startedAt: at(),
    finishedAt: at(),
  },
  (table) => [
    uniqueIndex("operations_one_in_flight").on(table.subjectId).where(sql`in_flight`),
    index("operations_open").on(table.runAfter).where(sql`not final`),
    index("operations_subject").on(table.subjectId, table.createdAt),
    index("operations_waiting").on(table.subjectId, table.createdAt).where(sql`not final`),
  ],
);

export const operationEvents = pgTable(
  "operation_events",
  {
    /** No foreign key: its check was 85 % of the cost of storing a line, and lines come only with their operation. */
    operationId: text().notNull(),
    seq: bigint({ mode: "number" }).notNull(),
    at: createdAt(),
    type: text().notNull(),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.operationId, table.seq] })],
);

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

/** The delivery inbox (decisions.md section 5). One row per organization with a matching project, else one without. */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    id: text().primaryKey(),
    provider: text().notNull(),
    /** X-Provider-Delivery, or the SHA-256 of the body. */
    deliveryId: text().notNull(),
    organizationId: text().references(() => organizations.id),
    event: text(),
    /** `owner/repo` in lower case, and of a push its branch and commit: what the delivery says of itself. */
    repository: text(),
    branch: text(),
    commitSha: text(),
    headers: jsonb().$type<Record<string, string>>().notNull(),
    /** As it came, and stored so: not compressed (storage external, migration 0011). */
    body: bytea().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    verdict: text().$type<DeliveryVerdict>(),
    reason: text(),
    /** Every project that was looked at: matched or the reason for the skip, and the deployment. */
    outcomes: jsonb().$type<DeliveryOutcome[]>().notNull().default([]),
    /** The last time that a person had it handled again; null where nobody did. */
    replay: jsonb().$type<DeliveryReplay | null>(),
    attempts: integer().notNull().default(0),
    leaseUntil: at(),
    /** It goes to the cloud: the deploy function works on it, and the edge leaves it alone. */
    forwarding: boolean().notNull().default(false),
    receivedAt: createdAt(),
    finishedAt: at(),
  },
  (table) => [
    uniqueIndex("webhook_deliveries_claim").on(
      table.provider,
      table.deliveryId,
      sql`coalesce(organization_id, '')`,
    ),
    index("webhook_deliveries_organization").on(table.organizationId, table.id),
    index("webhook_deliveries_open")
      .on(table.receivedAt)
      .where(sql`status in ('received', 'claimed', 'failed')`),
  ],
);

/**
 * The last head seen of the branch that a project deploys: by a push, or by the reconcile job, which looks for pushes
 * that never came. A column of projects would be locked by every push.
 */
export const branchHeads = pgTable(
  "branch_heads",
  {
    projectId: text()
      .primaryKey()
      .references(() => projects.id),
    /** Repository and branch that the head is of; another one begins anew. */
    source: text().notNull(),
    /** null: not seen yet. */
    head: text(),
    /** When a push brought the head; a git host may still show the one before for a moment. */
    pushedAt: at(),
    /** Also the claim of who looks: it is moved on before the look. */
    nextLookAt: at().notNull().defaultNow(),
    /** Looks in a row without an answer. */
    misses: integer().notNull().default(0),
  },
  (table) => [index("branch_heads_due").on(table.nextLookAt)],
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
