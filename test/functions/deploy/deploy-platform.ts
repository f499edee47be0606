/** The deploy module on a real database, called as the edge calls it in one process; its stories run on a lab server where one is given. */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCleanUpKind } from "../../../functions/deploy/clean-up-kind.ts";
import { createDeploymentKind } from "../../../functions/deploy/deployment-kind.ts";
import type { PoolRules } from "../../../functions/deploy/pool-rules.ts";
import { createDeploy } from "../../../functions/deploy/routes.ts";
import { monotonicClock, wallClock } from "../../../shared/adapters/clocks.ts";
import { createFileBlobStore } from "../../../shared/adapters/file-blob-store.ts";
import { createFrameworkCatalogue } from "../../../shared/adapters/vercel-frameworks.ts";
import { createSealer, type Sealer } from "../../../shared/crypto/seal.ts";
import { hashToken, makeToken } from "../../../shared/crypto/token.ts";
import type { Database } from "../../../shared/db/database.ts";
import { memberships, tokens, users } from "../../../shared/db/identity-tables.ts";
import { projectEnv, projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { type Permission, permissionTags, type Role } from "../../../shared/domain/permission.ts";
import type { Identity } from "../../../shared/domain/principal.ts";
import { credentialPlace, envValuePlace } from "../../../shared/domain/sealed-place.ts";
import { refuseUnsigned } from "../../../shared/http/identity-header.ts";
import type { ModuleApp } from "../../../shared/http/module-app.ts";
import { createFeed, type Feed } from "../../../shared/operations/follow.ts";
import { createRunner, type Runner } from "../../../shared/operations/runner.ts";
import type { BlobStore } from "../../../shared/ports/blob-store.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { Log } from "../../../shared/ports/log.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../../database.ts";
import { redeliverer } from "../../edge/webhooks/redeliverer.ts";
import { testStreams } from "../../outgoing.ts";
import { testPool } from "../../pool-rules.ts";
import { silentLog } from "../../silent-log.ts";

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
  body: any;
}
export type Caller = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

export interface TokenLimits {
  role?: Role;
  permissions?: Permission[];
  projectIds?: string[];
}

export interface DeployOrganization {
  organizationId: string;
  userId: string;
  call: Caller;
  with(limits: TokenLimits): Promise<Caller>;
}

export interface ServerAddress {
  host: string;
  port: number;
  user: string;
  hostKey: string;
  privateKey: string;
  httpPort: number;
  httpsPort: number;
}

export interface DeployPlatform {
  database: TestDatabase;
  db: Database;
  app: ModuleApp;
  uploads: BlobStore;
  uploadFolder: string;
  sealer: Sealer;
  feed: Feed;
  /** A process that works; more than one may run. */
  startRunner(): Runner;
  organization(): Promise<DeployOrganization>;
  addServer(organization: DeployOrganization, address?: ServerAddress): Promise<string>;
  addProject(
    organization: DeployOrganization,
    serverId: string,
    values?: Partial<typeof projects.$inferInsert>,
    env?: Record<string, string>,
  ): Promise<string>;
  setEnv(organization: DeployOrganization, projectId: string, env: Record<string, string>): Promise<void>;
  close(): Promise<void>;
}

export const rings = () => ({
  server: [ringKey()],
  env: [ringKey()],
  webhook: [ringKey()],
  git: [ringKey()],
  registry: [ringKey()],
  cloud: [ringKey()],
});
const ringKey = () => ({ kid: randomBytes(4).toString("hex"), key: randomBytes(32).toString("base64") });

type Given = Partial<{ shell: Shell; log: Log; clock: Clock; keys: ReturnType<typeof rings> }>;

export async function openDeployPlatform(
  options: Given & { mode?: "cloud"; pool?: PoolRules } = {},
): Promise<DeployPlatform> {
  const database = await openTestDatabase();
  const { db, listener } = database;
  const log = options.log ?? silentLog;
  const sealer = createSealer(options.keys ?? rings());
  const feed = createFeed({ db, listener, clock: wallClock, log });
  const shell = options.shell ?? noShell;
  const uploadFolder = join(tmpdir(), `slipway-uploads-${randomBytes(6).toString("hex")}`);
  const uploads = createFileBlobStore(uploadFolder);
  const parts = {
    ...{ db, shell, sealer, log, clock: options.clock ?? wallClock },
    frameworks: createFrameworkCatalogue(),
    uploads,
    pool: options.pool ?? testPool,
    baseDomain: "localhost",
  };
  const kind = createDeploymentKind(parts);
  const app = createDeploy({
    db,
    sealer,
    log,
    clock: wallClock,
    kind,
    feed,
    uploads,
    streams: testStreams(),
    mode: options.mode ?? "self-hosted",
    redeliver: redeliverer(db, log),
    verifyIdentity: refuseUnsigned,
  });
  const runners: Runner[] = [];
  return {
    database,
    db,
    app,
    uploads,
    uploadFolder,
    sealer,
    feed,
    startRunner: () => {
      const runner = createRunner({
        db,
        listener,
        kinds: [kind, createCleanUpKind(parts)],
        owner: "test",
        concurrency: 8,
        clock: monotonicClock,
        log,
      });
      runners.push(runner);
      runner.start();
      return runner;
    },
    organization: () => makeOrganization(db, app),
    addServer: (organization, address) => addServer(db, sealer, organization, address),
    addProject: (organization, serverId, values, env) =>
      addProject(db, sealer, { ...organization, serverId }, values, env),
    setEnv: (organization, projectId, env) => setEnv(db, sealer, { ...organization, id: projectId }, env),
    close: async () => {
      await Promise.all(runners.map((runner) => runner.stop()));
      feed.close();
      await shell.close();
      await rm(uploadFolder, { recursive: true, force: true });
      await database.close();
    },
  };
}

async function makeOrganization(db: Database, app: ModuleApp): Promise<DeployOrganization> {
  const { organizationId, userId } = await seedOrganization(db);
  const callerFor = async (limits: TokenLimits) => {
    const member = limits.role === undefined ? userId : await addMember(db, organizationId, limits.role);
    return caller(app, await makeIdentity(db, { organizationId, userId: member }, limits));
  };
  return { organizationId, userId, call: await callerFor({}), with: callerFor };
}

async function addMember(db: Database, organizationId: string, role: Role): Promise<string> {
  const userId = newId("user");
  await db.insert(users).values({ id: userId, email: `${userId}@example.com`, name: "Ben" });
  await db.insert(memberships).values({ organizationId, userId, role });
  return userId;
}

async function makeIdentity(
  db: Database,
  owner: { organizationId: string; userId: string },
  { permissions = undefined, projectIds = undefined }: TokenLimits,
): Promise<Identity> {
  const credentialId = newId("token");
  const narrowed = { permissions: permissions ?? null, projectIds: projectIds ?? null, serverIds: null };
  const hash = await hashToken(makeToken());
  await db.insert(tokens).values({ id: credentialId, ...owner, name: "test", hash, ...narrowed });
  const { projectIds: only, serverIds } = narrowed;
  const said = { permissions: [...permissionTags], projectIds: only, serverIds };
  return { ...owner, credentialId, ...said, sourceIp: "192.0.2.7", requestId: "req_test" };
}

function caller(app: ModuleApp, identity: Identity): Caller {
  return async (method, path, body, headers = {}) => {
    const response = await app.request(path, { method, ...sent(body, headers) }, { identity });
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    return { status: response.status, body: type.includes("json") ? JSON.parse(text) : text };
  };
}

/** Archives go as they are, everything else as JSON. */
function sent(body: unknown, headers: Record<string, string>): RequestInit {
  if (body === undefined) return { headers };
  const archive = { headers: { "content-type": "application/gzip", ...headers } };
  if (body instanceof Uint8Array) return { ...archive, body: Buffer.from(body) };
  if (body instanceof ReadableStream) return { ...archive, body, duplex: "half" } as RequestInit;
  return { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

async function addServer(
  db: Database,
  sealer: Sealer,
  { organizationId }: DeployOrganization,
  address?: ServerAddress,
): Promise<string> {
  const id = newId("server");
  const { privateKey = "", ...reached } = address ?? {
    host: "192.0.2.1",
    port: 22,
    user: "root",
    hostKey: "none",
  };
  const credential = JSON.stringify({ kind: "key", privateKey });
  const sealedCredential = await sealer.seal("server", credentialPlace({ id, organizationId }), credential);
  const { host, port, user, hostKey } = reached;
  const ports = address === undefined ? {} : { httpPort: address.httpPort, httpsPort: address.httpsPort };
  const row = { id, organizationId, name: id, host, port, user, hostKey, ...ports };
  await db.insert(servers).values({ ...row, authKind: "key", sealedCredential, bootstrappedAt: new Date() });
  return id;
}

async function addProject(
  db: Database,
  sealer: Sealer,
  { organizationId, serverId }: { organizationId: string; serverId: string },
  values: Partial<typeof projects.$inferInsert> = {},
  env: Record<string, string> = {},
): Promise<string> {
  const id = newId("project");
  const slug = `p-${id.slice(-12).toLowerCase()}`;
  const source = { kind: "git", provider: "git_host", owner: "acme", repo: "shop" } as const;
  await db.insert(projects).values({
    id,
    organizationId,
    serverId,
    name: slug,
    slug,
    kind: "app",
    source,
    repository: "acme/shop",
    ...values,
  });
  await setEnv(db, sealer, { id, organizationId }, env);
  return id;
}

async function setEnv(
  db: Database,
  sealer: Sealer,
  project: { id: string; organizationId: string },
  env: Record<string, string>,
): Promise<void> {
  const { id, organizationId } = project;
  for (const [key, value] of Object.entries(env)) {
    const sealedValue = await sealer.seal("env", envValuePlace({ id, organizationId }, key), value);
    await db
      .insert(projectEnv)
      .values({ projectId: id, key, sealedValue, fingerprint: "none" })
      .onConflictDoUpdate({ target: [projectEnv.projectId, projectEnv.key], set: { sealedValue } });
  }
}

/** For tests in which no story runs. */
const noShell: Shell = {
  run: () => Promise.reject(new Error("no server in this test")),
  async *stream() {
    yield* [];
    return { code: 0, stderr: "" };
  },
  upload: () => Promise.reject(new Error("no server in this test")),
  probeHostKey: () => Promise.reject(new Error("no server in this test")),
  forget: () => undefined,
  counts: () => ({ connections: 0, channels: 0 }),
  close: async () => undefined,
};
