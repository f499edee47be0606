import { createHmac, randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sweepDeliveries } from "../../edge/webhooks/inbox.ts";
import type { Database } from "../../shared/db/database.ts";
import {
  deployments,
  operationEvents,
  operations,
  projects,
  servers,
  webhookDeliveries,
} from "../../shared/db/schema.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import { webhookSecretPlace } from "../../shared/domain/sealed-place.ts";
import { insertOperation } from "../../shared/operations/create.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { edgeUnderTest, testSealer } from "./edge-under-test.ts";

let database: TestDatabase;
let db: Database;
let organizationId: string;
let ownerId: string;
/** A repository of its own for each test. */
let repository: string;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
afterAll(() => database.close());
beforeEach(async () => {
  ({ organizationId, userId: ownerId } = await seedOrganization(db));
  repository = `Acme/${randomUUID()}`;
});

interface ProjectSeed {
  organizationId?: string;
  secret?: string | null;
  branch?: string | null;
  autoDeploy?: boolean;
  hookId?: string;
}

async function seedProject(seed: ProjectSeed = {}): Promise<string> {
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
    kind: "app",
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

const sha = (digit: string) => digit.repeat(40);

function push(changes: Record<string, unknown> = {}) {
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

function request(
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

const deliver = (edge: ReturnType<typeof edgeUnderTest>, payload: unknown, sent: Sent = {}) =>
  edge.send(...request(JSON.stringify(payload), sent));

const deploymentsOf = (projectId: string) =>
  db.select().from(deployments).where(eq(deployments.projectId, projectId));
const rowsOf = (organization: string) =>
  db.select().from(webhookDeliveries).where(eq(webhookDeliveries.organizationId, organization));

describe("a signed push", () => {
  test("becomes a deployment of the project, attributed to the organization's owner", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const answer = await deliver(edge, push(), { delivery: "d-1" });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ success: true, deliveryId: "d-1", status: "done" });
    const [deployment, ...more] = await deploymentsOf(projectId);
    expect(more).toEqual([]);
    expect(deployment).toMatchObject({
      organizationId,
      trigger: "push",
      branch: "main",
      beforeSha: sha("a"),
      commitSha: sha("b"),
      commitMessage: "Fix the roof",
    });
    const [row] = await rowsOf(organizationId);
    expect(row).toMatchObject({ status: "done", verdict: "project_secret", reason: null, event: "push" });
    expect(row?.outcomes).toEqual([{ projectId, verdict: "deployed", deploymentId: deployment?.id }]);
    expect(deployment?.deliveryId).toBe(row?.id);
    expect(edge.nudged).toEqual([{ operationId: deployment?.id, projectId }]);
  });

  test("makes an operation of the very form that every other operation has", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    await deliver(edge, push());
    const [deployment] = await deploymentsOf(projectId);
    const id = newId("deployment");
    await db.transaction((tx) =>
      insertOperation(tx, {
        id,
        organizationId,
        kind: "deployment",
        subjectId: projectId,
        state: "queued",
        createdBy: ownerId,
      }),
    );
    const form = async (operationId: string) => {
      const [row] = await db.select().from(operations).where(eq(operations.id, operationId));
      const events = await db
        .select()
        .from(operationEvents)
        .where(eq(operationEvents.operationId, operationId));
      return {
        row: { ...row, id: null, createdAt: null },
        events: events.map(({ seq, type, data }) => ({ seq, type, data })),
      };
    };
    expect(await form(deployment?.id ?? "")).toEqual(await form(id));
  });

  test("counts the repository's name without regard to case, and GitHub's own headers and path too", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const payload = push({ repository: { full_name: repository.toUpperCase(), default_branch: "main" } });
    const answer = await deliver(edge, payload, {
      provider: "github",
      event: null,
      delivery: null,
      headers: { "x-github-event": "push", "x-github-delivery": "gh-1" },
    });
    expect(await answer.json()).toEqual({ success: true, deliveryId: "gh-1", status: "done" });
    expect(await deploymentsOf(projectId)).toHaveLength(1);
  });

  test("of a hundred copies at once makes one deployment, by one delivery id or by many", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const copies = Array.from({ length: 100 }, (_, index) =>
      deliver(edge, push(), { delivery: index % 2 === 0 ? "same" : `d-${index}`, from: `192.0.2.${index}` }),
    );
    const answers = await Promise.all(copies);
    expect(answers.map((answer) => answer.status)).toEqual(Array(100).fill(200));
    expect(await deploymentsOf(projectId)).toHaveLength(1);
    expect(await db.select().from(operations).where(eq(operations.subjectId, projectId))).toHaveLength(1);
    const statuses = (await rowsOf(organizationId)).map((row) => row.status).sort();
    expect(statuses).toEqual(["done", ...Array(50).fill("ignored")]);
  });

  test("sent again is dropped", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    await deliver(edge, push(), { delivery: "again" });
    const second = await deliver(edge, push(), { delivery: "again" });
    expect(second.status).toBe(200);
    expect(await second.json()).toEqual({ success: true, deliveryId: "again", status: "duplicate" });
    expect(await deploymentsOf(projectId)).toHaveLength(1);
  });

  test("without a delivery id is told by its body", async () => {
    const edge = edgeUnderTest(db);
    await seedProject();
    expect(await (await deliver(edge, push(), { delivery: null })).json()).toMatchObject({
      status: "done",
      deliveryId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(await (await deliver(edge, push(), { delivery: null })).json()).toMatchObject({
      status: "duplicate",
    });
  });

  test("back to an earlier commit deploys again: only the newest deployment makes a duplicate", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    await deliver(edge, push());
    await deliver(edge, push({ before: sha("b"), after: sha("c") }));
    await deliver(edge, push());
    await deliver(edge, push());
    expect(await deploymentsOf(projectId)).toHaveLength(3);
  });

  test("deploys the default branch where the project names none", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject({ branch: null });
    const repo = { full_name: repository, default_branch: "trunk" };
    await deliver(edge, push({ repository: repo }));
    expect(await deploymentsOf(projectId)).toHaveLength(0);
    await deliver(edge, push({ ref: "refs/heads/trunk", repository: repo }));
    expect(await deploymentsOf(projectId)).toHaveLength(1);
  });

  test("keeps a message of a stranger harmless and short", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    await deliver(edge, push({ head_commit: { message: `a\u0000b\u001b[31m\ud800${"x".repeat(9_000)}` } }));
    const [deployment] = await deploymentsOf(projectId);
    expect(deployment?.commitMessage).toMatch(/^ab\[31m\ufffdx+$/);
    expect(deployment?.commitMessage?.length).toBeLessThanOrEqual(limits.commitMessageLength);
  });
});

describe("a verified delivery that deploys nothing is acknowledged with its reason", () => {
  test.each([
    ["a tag", { ref: "refs/tags/v1" }, "not_a_branch"],
    ["a deleted branch", { deleted: true, after: "0".repeat(40) }, "branch_deleted"],
    ["a branch deleted by zeros", { deleted: undefined, after: "0".repeat(40) }, "branch_deleted"],
    ["another branch", { ref: "refs/heads/other" }, "no_matching_project"],
    ["a push without its commits", { after: "main" }, "malformed_push"],
    ["a ref that is no text", { ref: 7 }, "malformed_push"],
  ])("%s", async (_what, changes, reason) => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const answer = await deliver(edge, push(changes));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ success: true, status: "ignored" });
    expect(await rowsOf(organizationId)).toMatchObject([{ status: "ignored", reason }]);
    expect(await deploymentsOf(projectId)).toEqual([]);
  });

  test.each([
    ["ping", "ping"],
    ["installation", "event_not_handled"],
    ["check_run", "event_not_handled"],
    [null, "no_event_header"],
  ])("the event %s", async (event, reason) => {
    const edge = edgeUnderTest(db);
    await seedProject();
    const answer = await deliver(edge, push(), { event });
    expect(await answer.json()).toMatchObject({ success: true, status: "ignored" });
    expect(await rowsOf(organizationId)).toMatchObject([{ status: "ignored", reason }]);
  });

  test("every project that was looked at has its reason", async () => {
    const edge = edgeUnderTest(db);
    const off = await seedProject({ autoDeploy: false });
    const other = await seedProject({ branch: "release" });
    const matching = await seedProject();
    await deliver(edge, push());
    const [row] = await rowsOf(organizationId);
    expect(row?.outcomes).toEqual(
      expect.arrayContaining([
        { projectId: off, verdict: "skipped", reason: "auto_deploy_off" },
        { projectId: other, verdict: "skipped", reason: "other_branch" },
        { projectId: matching, verdict: "deployed", deploymentId: expect.any(String) },
      ]),
    );
  });
});

describe("refusals, in the order of spec.md", () => {
  test.each(["payments", "deliveries", "nobody", "GIT_HOST", "constructor", "a b"])(
    "the provider %s is not configured, whatever is sent",
    async (name) => {
      const edge = edgeUnderTest(db);
      const answer = await edge.send(`/api/webhooks/${encodeURIComponent(name)}`, {
        method: "POST",
        body: "{",
      });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toEqual({ error: `Webhook provider '${name}' is not configured` });
    },
  );

  test("a signature that is missing, malformed or of another secret or body is 401", async () => {
    const edge = edgeUnderTest(db);
    await seedProject();
    const body = JSON.stringify(push());
    const good = createHmac("sha256", "s3cret").update(body).digest("hex");
    const signatures = [
      null,
      "",
      good,
      `sha1=${good}`,
      `sha256=${good.slice(1)}`,
      `sha256=${sha("0")}${"0".repeat(24)}`,
    ];
    for (const signature of signatures) {
      const headers: Record<string, string> = { "x-provider-event": "push" };
      if (signature !== null) headers["x-hub-signature-256"] = signature;
      const answer = await edge.send("/api/webhooks/git_host", { method: "POST", body, headers });
      expect([signature, answer.status]).toEqual([signature, 401]);
    }
    expect((await deliver(edge, push(), { secret: "other" })).status).toBe(401);
    const [path, init] = request(body);
    expect((await edge.send(path, { ...init, body: `${body} ` })).status).toBe(401);
    expect(await rowsOf(organizationId)).toEqual([]);
    expect(edge.counters.list()).toMatchObject([
      { status: 401, source: "192.0.2.1", count: signatures.length + 2 },
    ]);
  });

  test("where no secret resolves it is 401: there is no unsigned path", async () => {
    const edge = edgeUnderTest(db);
    expect((await deliver(edge, push())).status).toBe(401);
    expect((await deliver(edge, push(), { secret: "" })).status).toBe(401);
    const nobody = edgeUnderTest(db, { instanceWebhookSecret: "" });
    expect((await deliver(nobody, push(), { secret: "" })).status).toBe(401);
  });

  test("a body that is not JSON is 400 when the instance signed it, else 401", async () => {
    const edge = edgeUnderTest(db, { instanceWebhookSecret: "instance" });
    await seedProject();
    for (const body of ["", "{", "payload=%7B%7D", "\ufeff\ufeff{}"]) {
      expect((await edge.send(...request(body, { secret: "instance" }))).status).toBe(400);
      expect((await edge.send(...request(body, { secret: "s3cret" }))).status).toBe(401);
    }
    const broken = new Uint8Array([0x22, 0xff, 0x22]);
    expect((await edge.send(...request(broken, { secret: "instance" }))).status).toBe(400);
  });

  test("JSON of any other form is no error of the sender", async () => {
    const edge = edgeUnderTest(db, { instanceWebhookSecret: "instance" });
    const nested = "[".repeat(100_000) + "]".repeat(100_000);
    for (const body of [
      "null",
      "[]",
      "7",
      '"x"',
      "{}",
      '{"repository":null}',
      '{"repository":{"full_name":7}}',
      nested,
    ]) {
      const answer = await edge.send(...request(body, { secret: "instance" }));
      expect([body.slice(0, 40), answer.status]).toEqual([body.slice(0, 40), 200]);
      expect(await answer.json()).toMatchObject({ success: true, status: "ignored" });
    }
  });

  test("a handler that throws is 200 with success: false, and the sweeper makes up for it", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const { settle } = edge.options.store.inbox;
    edge.options.store.inbox.settle = () => Promise.reject(new Error("relation does not exist"));
    const answer = await deliver(edge, push());
    expect(answer.status).toBe(200);
    const body = await answer.json();
    expect(body).toEqual({ success: false, error: expect.not.stringContaining("relation") });
    expect(await rowsOf(organizationId)).toMatchObject([
      { status: "failed", reason: "handler_failed", attempts: 1 },
    ]);

    edge.options.store.inbox.settle = settle;
    await sweepDeliveries(edge.options);
    expect(await deploymentsOf(projectId)).toEqual([]);
    await db.update(webhookDeliveries).set({ leaseUntil: new Date(0) });
    await sweepDeliveries(edge.options);
    expect(await deploymentsOf(projectId)).toHaveLength(1);
    expect(await rowsOf(organizationId)).toMatchObject([{ status: "done", attempts: 2 }]);
    expect(edge.nudged).toHaveLength(1);
  });

  test("a failed delivery that is sent again runs again", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const { settle } = edge.options.store.inbox;
    edge.options.store.inbox.settle = () => Promise.reject(new Error("no"));
    await deliver(edge, push(), { delivery: "r" });
    edge.options.store.inbox.settle = settle;
    expect(await (await deliver(edge, push(), { delivery: "r" })).json()).toMatchObject({ status: "done" });
    expect(await deploymentsOf(projectId)).toHaveLength(1);
  });

  test("a delivery whose handler died is taken over once its claim ran out, and the dead one can write nothing", async () => {
    const edge = edgeUnderTest(db);
    const projectId = await seedProject();
    const { inbox } = edge.options.store;
    const delivery = {
      provider: "git_host",
      deliveryId: "dead",
      event: "push",
      headers: {},
      body: new TextEncoder().encode(JSON.stringify(push())),
      verdict: "project_secret" as const,
    };
    const [dead] = await inbox.claim(delivery, [organizationId]);
    expect(await (await deliver(edge, push(), { delivery: "dead" })).json()).toMatchObject({
      status: "duplicate",
    });
    await db.update(webhookDeliveries).set({ leaseUntil: new Date(0) });
    expect(await (await deliver(edge, push(), { delivery: "dead" })).json()).toMatchObject({
      status: "done",
    });
    if (dead === undefined) throw new Error("not claimed");
    expect(await inbox.settle(dead, { reason: "late", outcomes: [] })).toBeNull();
    expect(await rowsOf(organizationId)).toMatchObject([{ status: "done", attempts: 2 }]);
    expect(await deploymentsOf(projectId)).toHaveLength(1);
  });

  test("a database that cannot store it is 503, so that the git host sends it again", async () => {
    const edge = edgeUnderTest(db);
    await seedProject();
    edge.options.store.inbox.claim = () => Promise.reject(new Error("connection terminated"));
    const answer = await deliver(edge, push());
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("30");
    expect(await answer.text()).not.toContain("connection terminated");
  });

  test("a nudge that is lost changes nothing", async () => {
    const edge = edgeUnderTest(db, { nudge: () => Promise.reject(new Error("queue down")) });
    const projectId = await seedProject();
    expect((await deliver(edge, push())).status).toBe(200);
    expect(await deploymentsOf(projectId)).toHaveLength(1);
  });
});

describe("trust is per organization", () => {
  test("a secret of one tenant never deploys another tenant's project of the same repository", async () => {
    const edge = edgeUnderTest(db);
    const victim = await seedProject({ secret: "secret-a" });
    const bare = await seedProject({ secret: null });
    const tenantB = await seedOrganization(db);
    const own = await seedProject({ organizationId: tenantB.organizationId, secret: "secret-b" });
    const answer = await deliver(edge, push(), { secret: "secret-b" });
    expect(answer.status).toBe(200);
    expect(await deploymentsOf(victim)).toEqual([]);
    expect(await deploymentsOf(bare)).toEqual([]);
    expect(await deploymentsOf(own)).toHaveLength(1);
    expect(await rowsOf(organizationId)).toEqual([]);
  });

  test("one tenant's delivery id does not use up another's", async () => {
    const edge = edgeUnderTest(db);
    const victim = await seedProject({ secret: "secret-a" });
    const tenantB = await seedOrganization(db);
    await seedProject({ organizationId: tenantB.organizationId, secret: "secret-b" });
    await deliver(edge, push(), { secret: "secret-b", delivery: "same" });
    await deliver(edge, push(), { secret: "secret-a", delivery: "same" });
    expect(await deploymentsOf(victim)).toHaveLength(1);
  });

  test("a hook secret acts for all matching projects of its organization", async () => {
    const edge = edgeUnderTest(db);
    const one = await seedProject({ secret: "secret-1" });
    const two = await seedProject({ secret: "secret-2" });
    const bare = await seedProject({ secret: null });
    await deliver(edge, push(), { secret: "secret-2" });
    for (const projectId of [one, two, bare]) expect(await deploymentsOf(projectId)).toHaveLength(1);
  });

  test("the instance secret acts only for projects without one of their own", async () => {
    const edge = edgeUnderTest(db, { instanceWebhookSecret: "instance" });
    const own = await seedProject({ secret: "secret-1" });
    const bare = await seedProject({ secret: null });
    expect((await deliver(edge, push(), { secret: "instance" })).status).toBe(200);
    expect(await deploymentsOf(own)).toEqual([]);
    expect(await deploymentsOf(bare)).toHaveLength(1);
  });

  test("a hint picks the secret first but proves nothing", async () => {
    const edge = edgeUnderTest(db);
    const many = limits.webhookSecretsTried;
    for (let index = 0; index < many; index++) await seedProject({ secret: `filler-${index}` });
    const hookId = randomUUID();
    const last = await seedProject({ secret: "the-last", hookId });
    expect((await deliver(edge, push(), { secret: "the-last" })).status).toBe(401);
    expect((await deliver(edge, push(), { secret: "wrong", query: `?hook=${hookId}` })).status).toBe(401);
    expect((await deliver(edge, push(), { secret: "the-last", query: `?hook=${hookId}` })).status).toBe(200);
    expect(await deploymentsOf(last)).toHaveLength(1);
  });

  test("a body that names two repositories counts as the one it was verified for", async () => {
    const edge = edgeUnderTest(db);
    const victim = await seedProject({ secret: "secret-a" });
    const victims = repository;
    repository = `evil/${randomUUID()}`;
    const tenantB = await seedOrganization(db);
    await seedProject({ organizationId: tenantB.organizationId, secret: "secret-b" });
    const twice = JSON.stringify(push()).replace(
      '"full_name":',
      `"full_name":${JSON.stringify(repository)},"full_name":${JSON.stringify(victims)},"full_name":`,
    );
    const swapped = JSON.stringify(push({ repository: { full_name: victims } })).replace(
      '"repository":',
      `"repository":{"full_name":${JSON.stringify(repository)}},"repository":`,
    );
    for (const body of [twice, swapped]) await edge.send(...request(body, { secret: "secret-b" }));
    expect(await deploymentsOf(victim)).toEqual([]);
  });

  test("a delivery for nobody is one row without an organization", async () => {
    const edge = edgeUnderTest(db, { instanceWebhookSecret: "instance" });
    const delivery = randomUUID();
    await deliver(edge, push(), { secret: "instance", delivery });
    const rows = await db.select().from(webhookDeliveries).where(eq(webhookDeliveries.deliveryId, delivery));
    expect(rows).toMatchObject([{ organizationId: null, status: "ignored", reason: "no_matching_project" }]);
  });
});

describe("limits of the ingress", () => {
  test("120 a minute from one source, and the 121st is 429", async () => {
    const edge = edgeUnderTest(db);
    const from = "198.51.100.1";
    const answers = await Promise.all(
      Array.from({ length: 130 }, () =>
        edge.send("/api/webhooks/nobody", { method: "POST", body: "", from }),
      ),
    );
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    const refused = answers.find((answer) => answer.status === 429);
    expect(refused?.headers.get("retry-after")).toBe("60");
    expect((await edge.send("/api/webhooks/nobody", { method: "POST", from: "198.51.100.2" })).status).toBe(
      404,
    );
    await edge.clock.advance(60_000);
    expect((await edge.send("/api/webhooks/nobody", { method: "POST", from })).status).toBe(404);
  });

  test("addresses of one IPv6 network count together, and a forged X-Forwarded-For does not help", async () => {
    const edge = edgeUnderTest(db);
    for (let index = 0; index < 120; index++) {
      const headers = { "x-forwarded-for": `203.0.113.${index}` };
      await edge.send("/api/webhooks/x", { method: "POST", from: `2001:db8::${index}`, headers });
    }
    expect((await edge.send("/api/webhooks/x", { method: "POST", from: "2001:db8::beef" })).status).toBe(429);
    expect((await edge.send("/api/webhooks/x", { method: "POST", from: "2001:db8:0:1::1" })).status).toBe(
      404,
    );
  });

  test("sources behind a trusted proxy count apart", async () => {
    const edge = edgeUnderTest(db, { trustedProxies: ["10.0.0.0/8"] });
    const via = (source: string) =>
      edge.send("/api/webhooks/x", {
        method: "POST",
        from: "10.0.0.1",
        headers: { "x-forwarded-for": source },
      });
    for (let index = 0; index < 120; index++) await via("192.0.2.1");
    expect((await via("6.6.6.6, 192.0.2.1")).status).toBe(429);
    expect((await via("192.0.2.2")).status).toBe(404);
  });

  test("a body of 5 MiB is taken and one byte more is 413", async () => {
    const edge = edgeUnderTest(db);
    await seedProject();
    const json = JSON.stringify(push());
    const full = json + " ".repeat(limits.webhookBodyBytes - json.length);
    expect((await edge.send(...request(full))).status).toBe(200);
    expect((await edge.send(...request(`${full} `))).status).toBe(413);
    expect(edge.counters.list()).toMatchObject([{ status: 413, count: 1 }]);
  });
});
