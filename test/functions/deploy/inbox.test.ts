/** The delivery inbox as people see it, from a signed delivery on (decisions.md section 5, docs/decisions/0012). */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { openWholeApi } from "../../contract/whole-api.ts";
import { seedOrganization } from "../../database.ts";
import { edgeUnderTest, seedToken } from "../../edge/edge-under-test.ts";
import {
  deliver,
  deploymentsOf,
  openScene,
  push,
  request,
  seedProject,
  sha,
} from "../../edge/webhooks/scene.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
beforeAll(async () => {
  api = await openWholeApi();
});
afterAll(() => api.close());

const scene = openScene(() => api.db);
let token: string;
beforeEach(async () => {
  token = (await seedToken(scene.db, { organizationId: scene.organizationId, userId: scene.ownerId })).token;
});

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the assertions
type Answer = { status: number; body: any };

async function call(method: string, path: string, body?: unknown, as = token): Promise<Answer> {
  const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await api.send(`/api/webhooks/deliveries${path}`, {
    ...{ method, token: as },
    ...(body === undefined ? {} : json),
  });
  return { status: answer.status, body: await answer.json() };
}

const newest = async () => (await call("GET", "?limit=1")).body.data[0];
const replayed = async (id: string, body?: unknown, as = token) => {
  const answer = await call("POST", `/${id}/replay`, body, as);
  return { ...answer, reasons: answer.body.data?.projects.map(({ reason }: { reason: string }) => reason) };
};
const finish = (projectId: string, state: "ready" | "failed") =>
  scene.db
    .update(operations)
    .set({ state, final: true, inFlight: false })
    .where(eq(operations.subjectId, projectId));

describe("who asks why a push did not deploy", () => {
  test("finds the delivery with the reason for every project, in words", async () => {
    const off = await seedProject(scene, { autoDeploy: false });
    const other = await seedProject(scene, { branch: "release" });
    await deliver(api, push(scene), { delivery: "d-1" });
    const { body } = await call("GET", "");
    expect(body).toMatchObject({ nextCursor: null, data: [{ projects: expect.any(Array) }] });
    expect(body.data[0]).toMatchObject({
      deliveryId: "d-1",
      event: "push",
      repository: scene.repository.toLowerCase(),
      branch: "main",
      commitSha: sha("b"),
      status: "ignored",
      verdict: "project_secret",
      reason: "no_matching_project",
      message: expect.stringContaining("No project matched"),
      attempts: 1,
      replay: null,
    });
    expect(body.data[0].projects).toEqual(
      expect.arrayContaining([
        {
          projectId: off,
          name: "p",
          verdict: "skipped",
          reason: "auto_deploy_off",
          message: expect.stringContaining("autoDeploy"),
          deploymentId: null,
        },
        {
          projectId: other,
          name: "p",
          verdict: "skipped",
          reason: "other_branch",
          message: expect.any(String),
          deploymentId: null,
        },
      ]),
    );
  });

  test("sees the deployments that followed, the headers without the signature, and of the body what is no secret", async () => {
    const projectId = await seedProject(scene);
    const secret = "ghs_0123456789";
    await deliver(
      api,
      push(scene, {
        installation: { token: secret },
        commits: Array(30).fill({ id: sha("b"), message: "One" }),
      }),
    );
    const { id } = await newest();
    const { status, body } = await call("GET", `/${id}`);
    const [deployment] = await deploymentsOf(scene, projectId);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      headers: { "x-provider-event": "push", "content-type": "application/json" },
      body: { bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      payload: { ref: "refs/heads/main", after: sha("b"), commitCount: 30 },
      deployments: [{ id: deployment?.id, projectId, status: "queued" }],
      nextAttemptAt: null,
    });
    expect(body.data.payload.commits).toHaveLength(20);
    expect(Object.keys(body.data.headers)).not.toContain("x-hub-signature-256");
    expect(JSON.stringify(body)).not.toContain(secret);
  });

  test("finds it by status, event, project, verdict, repository, branch and time, page by page", async () => {
    const projectId = await seedProject(scene);
    const quiet = await seedProject(scene, { branch: "release" });
    await deliver(api, push(scene));
    await deliver(api, push(scene), { event: "ping" });
    await deliver(api, push(scene, { ref: "refs/heads/release", before: sha("c"), after: sha("d") }));
    const found = async (query: string) => {
      const { status, body } = await call("GET", query);
      return status === 200
        ? body.data.map((one: { event: string; branch: string }) => one.branch ?? one.event)
        : status;
    };
    const future = new Date(Date.now() + 60_000).toISOString();
    expect(await found("")).toEqual(["release", "ping", "main"]);
    expect(await found("?status=ignored")).toEqual(["ping"]);
    expect(await found("?event=ping")).toEqual(["ping"]);
    expect(await found("?branch=main")).toEqual(["main"]);
    expect(await found(`?projectId=${projectId}&branch=release`)).toEqual(["release"]);
    expect(await found(`?projectId=${quiet}&status=ignored`)).toEqual([]);
    expect(await found(`?projectId=${newId("project")}`)).toBe(404);
    expect(await found(`?repository=${scene.repository}&verdict=project_secret`)).toHaveLength(3);
    expect(await found("?verdict=instance_secret")).toEqual([]);
    expect(await found(`?from=${future}`)).toEqual([]);
    expect(await found(`?to=${future}`)).toHaveLength(3);
    for (const wrong of ["limit=0", "limit=501", "status=lost", "from=yesterday"]) {
      expect([wrong, await found(`?${wrong}`)]).toEqual([wrong, 400]);
    }
    const first = await call("GET", "?limit=2");
    expect(await found(`?limit=2&cursor=${first.body.nextCursor}`)).toEqual(["main"]);
  });
});

describe("a delivery is there for its own organization only", () => {
  test("a foreign, absent or nameless one is 404 in every route", async () => {
    await seedProject(scene);
    await deliver(api, push(scene));
    const { id } = await newest();
    const foreign = (await seedToken(scene.db, await seedOrganization(scene.db))).token;
    const ofNobody = newId("delivery");
    await scene.db.insert(webhookDeliveries).values({
      ...{ id: ofNobody, provider: "git_host", deliveryId: ofNobody, headers: {}, body: new Uint8Array() },
      status: "ignored",
    });
    for (const [asked, as] of [
      [id, foreign],
      [ofNobody, token],
      [newId("delivery"), token],
    ] as const) {
      expect((await call("GET", `/${asked}`, undefined, as)).status).toBe(404);
      expect((await replayed(asked, {}, as)).status).toBe(404);
    }
    expect((await call("GET", "", undefined, foreign)).body.data).toEqual([]);
  });

  test("a narrowed token sees deliveries that touch its projects, their outcomes alone, and replays for these", async () => {
    const mine = await seedProject(scene);
    const other = await seedProject(scene);
    await deliver(api, push(scene), { event: "ping" });
    await deliver(api, push(scene));
    await finish(mine, "failed");
    await finish(other, "failed");
    scene.repository = `${scene.repository}-2`;
    await seedProject(scene);
    await deliver(api, push(scene));
    const owner = { organizationId: scene.organizationId, userId: scene.ownerId };
    const narrow = (await seedToken(scene.db, owner, { projectIds: [mine] })).token;
    const listed = (await call("GET", "", undefined, narrow)).body.data;
    expect(listed.map(({ event }: { event: string }) => event)).toEqual(["push", "ping"]);
    const ids = (projects: { projectId: string }[]) => projects.map(({ projectId }) => projectId);
    expect(ids(listed[0].projects)).toEqual([mine]);
    const again = await replayed(listed[0].id, undefined, narrow);
    expect([again.status, ids(again.body.data.deployments)]).toEqual([202, [mine, mine]]);
    expect(await deploymentsOf(scene, other)).toHaveLength(1);
    const whole = (await call("GET", `/${listed[0].id}`)).body.data;
    expect(ids(whole.projects).sort()).toEqual([mine, other].sort());
    expect(whole.deployments).toHaveLength(3);
  });
});

describe("a replay", () => {
  test("deploys what was skipped once its reason is gone, with the projects of now", async () => {
    const projectId = await seedProject(scene, { autoDeploy: false });
    await deliver(api, push(scene));
    const { id } = await newest();
    expect(await replayed(id)).toMatchObject({ status: 200, reasons: ["auto_deploy_off"] });
    await scene.db.update(projects).set({ autoDeploy: true }).where(eq(projects.id, projectId));
    const { status, body } = await replayed(id);
    expect(status).toBe(202);
    expect(body.data).toMatchObject({
      ...{ id, status: "done", reason: null, attempts: 3 },
      replay: { by: scene.ownerId, force: false },
      deployments: [{ projectId, status: "queued" }],
    });
    const [made] = await deploymentsOf(scene, projectId);
    expect(made).toMatchObject({ trigger: "push", commitSha: sha("b"), deliveryId: id });
  });

  test("makes no second deployment of what is under way or live, unless a person asks for it", async () => {
    const projectId = await seedProject(scene);
    await deliver(api, push(scene));
    const { id } = await newest();
    expect(await replayed(id)).toMatchObject({ status: 200, reasons: ["duplicate_push"] });
    await finish(projectId, "ready");
    expect(await replayed(id)).toMatchObject({ status: 200, reasons: ["duplicate_push"] });
    expect((await replayed(id, { force: true })).status).toBe(202);
    expect(await deploymentsOf(scene, projectId)).toHaveLength(2);
  });

  test("deploys a push again whose deployment failed", async () => {
    const projectId = await seedProject(scene);
    await deliver(api, push(scene));
    await finish(projectId, "failed");
    expect((await replayed((await newest()).id)).status).toBe(202);
    expect(await deploymentsOf(scene, projectId)).toHaveLength(2);
  });

  test("of an old push deploys nothing, unless a person asks for it", async () => {
    const projectId = await seedProject(scene);
    await deliver(api, push(scene));
    const { id } = await newest();
    await deliver(api, push(scene, { before: sha("b"), after: sha("c") }));
    expect(await replayed(id)).toMatchObject({ status: 200, reasons: ["stale"] });
    expect((await replayed(id, { force: true })).status).toBe(202);
    const last = (await deploymentsOf(scene, projectId)).at(-1);
    expect(last?.commitSha).toBe(sha("b"));
  });

  test("acts by the trust of then: the instance's secret never for a project that has its own by now", async () => {
    const own = await seedProject(scene, { secret: null });
    const instance = edgeUnderTest(scene.db, { instanceWebhookSecret: "secret-of-the-instance" });
    const sent = request(JSON.stringify(push(scene)), { secret: "secret-of-the-instance" });
    expect((await instance.send(...sent)).status).toBe(200);
    await finish(own, "failed");
    const { id } = await newest();
    await scene.db.update(projects).set({ sealedWebhookSecret: "sealed" }).where(eq(projects.id, own));
    const { status, body } = await replayed(id);
    expect([status, body.data.reason]).toEqual([200, "no_matching_project"]);
    expect(await deploymentsOf(scene, own)).toHaveLength(1);
  });

  test("is refused while the delivery is being handled, and stands in the audit", async () => {
    await seedProject(scene);
    await deliver(api, push(scene));
    const { id } = await newest();
    const soon = new Date(Date.now() + 60_000);
    const claim = { status: "claimed", leaseUntil: soon } as const;
    await scene.db.update(webhookDeliveries).set(claim).where(eq(webhookDeliveries.id, id));
    expect(await replayed(id)).toMatchObject({ status: 409, body: { code: "being_handled" } });
    await scene.db
      .update(webhookDeliveries)
      .set({ leaseUntil: new Date(0) })
      .where(eq(webhookDeliveries.id, id));
    await replayed(id, { force: true });
    const entries = await scene.db.select().from(auditEntries).where(eq(auditEntries.resourceId, id));
    expect(entries).toMatchObject([
      { action: "webhook_delivery.replayed", userId: scene.ownerId, fields: ["force"] },
    ]);
  });
});
