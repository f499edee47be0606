/** Projects with a hook, and deliveries as a git host sends them. */
import { createHmac, randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Database } from "../../../shared/db/database.ts";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import type { ProjectKind } from "../../../shared/domain/project.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../../database.ts";
import { type edgeUnderTest, testSealer } from "../edge-under-test.ts";

/** Of this test: a database for the file, an organization and a repository of its own for each test. */
export interface Scene {
  db: Database;
  organizationId: string;
  ownerId: string;
  repository: string;
}

/** `opened`: where the database is there already. */
export function openScene(opened?: () => Database): Scene {
  let database: TestDatabase | undefined;
  const scene = {} as Scene;
  beforeAll(async () => {
    if (opened === undefined) database = await openTestDatabase();
    const db = database?.db ?? opened?.();
    if (db !== undefined) scene.db = db;
  });
  afterAll(() => database?.close());
  beforeEach(async () => {
    const { organizationId, userId } = await seedOrganization(scene.db);
    Object.assign(scene, { organizationId, ownerId: userId, repository: `Acme/${randomUUID()}` });
  });
  return scene;
}

interface ProjectSeed {
  organizationId?: string;
  secret?: string | null;
  branch?: string | null;
  autoDeploy?: boolean;
  kind?: ProjectKind;
  hookId?: string;
}

export async function seedProject(
  { db, organizationId, repository }: Scene,
  seed: ProjectSeed = {},
): Promise<string> {
  const id = newId("project");
  const organization = seed.organizationId ?? organizationId;
  const serverId = newId("server");
  await db.insert(servers).values({
    id: serverId,
    organizationId: organization,
    name: "s",
    host: "h",
    port: 22,
    user: "root",
    authKind: "key",
    sealedCredential: "-",
    hostKey: "-",
  });
  const secret = seed.secret === undefined ? "s3cret" : seed.secret;
  const [owner = "", repo = ""] = repository.split("/");
  await db.insert(projects).values({
    id,
    organizationId: organization,
    serverId,
    name: "p",
    slug: id.toLowerCase(),
    kind: seed.kind ?? "app",
    source: { kind: "git", provider: "git_host", owner, repo },
    repository: repository.toLowerCase(),
    branch: seed.branch === undefined ? "main" : seed.branch,
    autoDeploy: seed.autoDeploy ?? true,
    hookId: seed.hookId ?? null,
    sealedWebhookSecret:
      secret === null
        ? null
        : await testSealer.seal("webhook", webhookSecretPlace({ id, organizationId: organization }), secret),
  });
  return id;
}

export const sha = (digit: string) => digit.repeat(40);

export function push({ repository }: Scene, changes: Record<string, unknown> = {}) {
  return {
    ref: "refs/heads/main",
    before: sha("a"),
    after: sha("b"),
    deleted: false,
    repository: { full_name: repository, default_branch: "main" },
    head_commit: { id: sha("b"), message: "Fix the roof" },
    ...changes,
  };
}

interface Sent {
  secret?: string | null;
  event?: string | null;
  delivery?: string | null;
  headers?: Record<string, string>;
  query?: string;
  from?: string;
  provider?: string;
}

export function request(
  body: string | Uint8Array<ArrayBuffer>,
  sent: Sent = {},
): [string, RequestInit & { from?: string }] {
  const { secret = "s3cret", event = "push", delivery = randomUUID() } = sent;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (secret !== null) {
    headers["x-hub-signature-256"] = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  }
  if (event !== null) headers["x-provider-event"] = event;
  if (delivery !== null) headers["x-provider-delivery"] = delivery;
  const path = `/api/webhooks/${sent.provider ?? "git_host"}${sent.query ?? ""}`;
  const from = sent.from === undefined ? {} : { from: sent.from };
  return [path, { method: "POST", body, headers: { ...headers, ...sent.headers }, ...from }];
}

export const deliver = (edge: ReturnType<typeof edgeUnderTest>, payload: unknown, sent: Sent = {}) =>
  edge.send(...request(JSON.stringify(payload), sent));

export const deploymentsOf = ({ db }: Scene, projectId: string) =>
  db.select().from(deployments).where(eq(deployments.projectId, projectId));
export const rowsOf = ({ db, organizationId }: Scene) =>
  db.select().from(webhookDeliveries).where(eq(webhookDeliveries.organizationId, organizationId));
