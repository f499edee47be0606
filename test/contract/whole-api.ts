/** The edge with the real modules behind it, in one process, and an organization that has one of everything. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryLimiter } from "../../edge/adapters/memory-limiter.ts";
import { forwardInProcess } from "../../edge/router/forward-in-process.ts";
import { createDeploymentKind } from "../../functions/deploy/deployment-kind.ts";
import { createDeploy } from "../../functions/deploy/routes.ts";
import { createNotifications } from "../../functions/notify/compose.ts";
import { createPlatform } from "../../functions/platform/routes.ts";
import { createSetUpCode } from "../../functions/platform/set-up-code.ts";
import { wallClock } from "../../shared/adapters/clocks.ts";
import { createFileBlobStore } from "../../shared/adapters/file-blob-store.ts";
import { createMetrics } from "../../shared/adapters/prometheus-metrics.ts";
import { createFrameworkCatalogue } from "../../shared/adapters/vercel-frameworks.ts";
import { createSealer } from "../../shared/crypto/seal.ts";
import type { Database } from "../../shared/db/database.ts";
import { webhookDeliveries } from "../../shared/db/delivery-tables.ts";
import { invitations, memberships, users } from "../../shared/db/identity-tables.ts";
import { domains, projectServices, projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Role } from "../../shared/domain/permission.ts";
import type { ProjectKind } from "../../shared/domain/project.ts";
import { credentialPlace, serviceEnvironmentPlace } from "../../shared/domain/sealed-place.ts";
import { refuseUnsigned } from "../../shared/http/identity-header.ts";
import { createFeed } from "../../shared/operations/follow.ts";
import { type GitHost, GitHostFailure } from "../../shared/ports/git-host.ts";
import { type GitHostApi, GitHostApiFailure } from "../../shared/ports/git-host-api.ts";
import { type Shell, ShellFailure } from "../../shared/ports/shell.ts";
import { openTestDatabase, seedOrganization } from "../database.ts";
import { edgeUnderTest, seedToken } from "../edge/edge-under-test.ts";
import { redeliverer } from "../edge/webhooks/redeliverer.ts";
import { makeSealKey } from "../keys.ts";
import { loopbackOutgoing, testOutgoing, testStreams } from "../outgoing.ts";
import { testPool } from "../pool-rules.ts";
import { recordingLog } from "../silent-log.ts";
import { seedGitConnection, seedNotifications, seedRegistry } from "./seed-sealed.ts";

/** The clock is that of the modules. */
export async function openWholeApi({
  baseUrl = "http://edge.test",
  limiter = createMemoryLimiter(),
  clock = wallClock,
} = {}) {
  const announced: string[] = [];
  const setUpCode = createSetUpCode((code) => announced.push(code));
  const database = await openTestDatabase();
  const { db, listener } = database;
  const log = recordingLog();
  const ring = [{ kid: "t", key: makeSealKey() }];
  const classes = { server: ring, env: ring, webhook: ring, git: ring, registry: ring, cloud: ring };
  const sealer = createSealer(classes);
  const feed = createFeed({ db, listener, clock: wallClock, log });
  const stopping = new AbortController();
  const shell = unreachable();
  const around = { baseDomain: "localhost", acmeDirectory: undefined, pool: testPool };
  const parts = { db, log, shell, sealer, clock, ...around };
  const module = { ...parts, feed, verifyIdentity: refuseUnsigned, stopping: stopping.signal };
  const uploads = createFileBlobStore(join(tmpdir(), `slipway-uploads-${newId("operation")}`));
  const kind = createDeploymentKind({ ...parts, uploads, frameworks: createFrameworkCatalogue() });
  const metrics = createMetrics({ log });
  const notifications = createNotifications({
    ...{ db, listener, log, limiter, baseUrl, clock, smtp: undefined },
    sealer: createSealer({ notify: ring }),
    outgoing: loopbackOutgoing(),
    verifyIdentity: refuseUnsigned,
    stopping: stopping.signal,
  });
  const edge = edgeUnderTest(db, {
    log,
    metrics,
    clock: wallClock,
    apiLimitPerMinute: 1_000_000,
    baseUrl,
    limiter,
    forwarder: forwardInProcess({
      platform: createPlatform({
        ...module,
        baseUrl,
        fingerprintKey: makeSealKey(),
        limiter,
        setUpCode,
        exposeMetrics: metrics.expose,
        gitHost: silentGitHost,
        gitHostApi: silentGitHostApi,
        outgoing: testOutgoing(),
      }),
      notify: notifications.app,
      deploy: createDeploy({
        ...module,
        kind,
        uploads,
        mode: "self-hosted",
        streams: testStreams(),
        redeliver: redeliverer(db, log),
      }),
    }),
  });
  return {
    ...edge,
    notifications,
    db,
    log,
    sealer,
    setUpCode,
    announced,
    async close() {
      stopping.abort();
      feed.close();
      await database.close();
    },
  };
}

type WholeApi = Awaited<ReturnType<typeof openWholeApi>>;

/** Ids by the collection of a path: `/api/servers/{id}` takes `servers`. */
export type Belongings = Record<
  | "organizations"
  | "userId"
  | "invitations"
  | "servers"
  | "git-connections"
  | "registries"
  | "projects"
  | "deployments"
  | "tokens"
  | "domainId"
  | "projectOfServices"
  | "serviceId"
  | "channels"
  | "subscriptions"
  | "deliveries"
  | "webhooks",
  string
>;

export async function seedBelongings(api: WholeApi) {
  const owner = await seedOrganization(api.db);
  const all = await seedToken(api.db, owner);
  const { id: server } = await seedServer(api, owner.organizationId);
  const project = await seedProject(api.db, owner.organizationId, server);
  const domainId = newId("domain");
  await api.db.insert(domains).values({
    id: domainId,
    organizationId: owner.organizationId,
    projectId: project,
    hostname: `${domainId.toLowerCase().replace("_", "-")}.test`,
  });
  const made = await api.send("/api/deployments", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ projectId: project }),
    token: all.token,
  });
  const { data } = (await made.json()) as { data: { id: string } };
  const belongings: Belongings = {
    organizations: owner.organizationId,
    userId: await seedMember(api.db, owner.organizationId, "member"),
    invitations: await seedInvitation(api.db, owner),
    servers: server,
    "git-connections": await seedGitConnection(api, owner.organizationId),
    registries: await seedRegistry(api, owner.organizationId),
    projects: project,
    deployments: data.id,
    tokens: (await seedToken(api.db, owner)).id,
    domainId,
    ...(await seedServices(api, owner.organizationId, server)),
    ...(await seedNotifications(api.db, owner)),
    webhooks: await seedWebhookDelivery(api.db, owner.organizationId, project),
  };
  return { owner, token: all.token, belongings };
}

export async function seedMember(db: Database, organizationId: string, role: Role): Promise<string> {
  const userId = newId("user");
  await db.insert(users).values({ id: userId, email: `${userId.toLowerCase()}@example.com`, name: "Ben" });
  await db.insert(memberships).values({ organizationId, userId, role });
  return userId;
}

async function seedInvitation(db: Database, owner: { organizationId: string; userId: string }) {
  const id = newId("invitation");
  const { organizationId, userId: invitedBy } = owner;
  const expiresAt = new Date(Date.now() + 60_000);
  const email = `${id.toLowerCase()}@example.com`;
  await db
    .insert(invitations)
    .values({ id, organizationId, invitedBy, email, role: "viewer", hash: id, expiresAt });
  return id;
}

export async function seedServer({ db, sealer }: WholeApi, organizationId: string) {
  const id = newId("server");
  const credential = JSON.stringify({ kind: "password", password: "x" });
  await db.insert(servers).values({
    id,
    organizationId,
    name: "one",
    host: "server.test",
    port: 22,
    user: "root",
    authKind: "password",
    sealedCredential: await sealer.seal("server", credentialPlace({ id, organizationId }), credential),
    hostKey: "ssh-ed25519 AAAA",
    bootstrappedAt: new Date(),
  });
  return { id };
}

async function seedServices(api: WholeApi, organizationId: string, serverId: string) {
  const projectOfServices = await seedProject(api.db, organizationId, serverId, "compose");
  const serviceId = newId("service");
  const place = serviceEnvironmentPlace({ id: serviceId, organizationId });
  const sealedEnvironment = await api.sealer.seal("env", place, "{}");
  const row = { name: "db", image: "postgres:16", sealedEnvironment };
  await api.db
    .insert(projectServices)
    .values({ id: serviceId, organizationId, projectId: projectOfServices, ...row });
  return { projectOfServices, serviceId };
}

/** Ignored, so that a replay finds nothing to do. */
export async function seedWebhookDelivery(
  db: Database,
  organizationId: string,
  projectId: string,
): Promise<string> {
  const id = newId("delivery");
  await db.insert(webhookDeliveries).values({
    ...{ id, organizationId, provider: "git_host", deliveryId: id, event: "ping", repository: "acme/shop" },
    headers: { "x-provider-event": "ping" },
    body: new TextEncoder().encode("{}"),
    ...{ status: "ignored", verdict: "project_secret", reason: "ping", attempts: 1 },
    outcomes: [{ projectId, verdict: "skipped", reason: "ping" }],
  });
  return id;
}

export async function seedProject(
  db: Database,
  organizationId: string,
  serverId: string,
  kind: ProjectKind = "app",
): Promise<string> {
  const id = newId("project");
  await db.insert(projects).values({
    id,
    organizationId,
    serverId,
    name: "shop",
    slug: id.slice(-12).toLowerCase(),
    kind,
    source: { kind: "git", provider: "git_host", owner: "acme", repo: "shop" },
    repository: "acme/shop",
  });
  return id;
}

const silentGitHost: GitHost = {
  ask: async () => {
    throw new GitHostFailure("The git host could not be reached.");
  },
};

const noHostApi = async () => {
  throw new GitHostApiFailure("away", "The git host could not be reached.");
};
const silentGitHostApi: GitHostApi = { putHook: noHostApi, removeHook: noHostApi, setStatus: noHostApi };

/** No server is there: the contract has nothing to say about one, and the lab's tests have. */
function unreachable(): Shell {
  const refuse = async () => {
    throw new ShellFailure("unreachable", "The server does not answer.");
  };
  return {
    run: refuse,
    stream: () => {
      throw new ShellFailure("unreachable", "The server does not answer.");
    },
    upload: refuse,
    probeHostKey: refuse,
    forget: () => undefined,
    counts: () => ({ connections: 0, channels: 0 }),
    close: async () => undefined,
  };
}
