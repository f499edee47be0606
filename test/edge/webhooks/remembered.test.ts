/** What the edge remembers of a repository spares a question, and never decides: the database has the last word. */
import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { createPostgresEdgeStore } from "../../../shared/adapters/edge-store-postgres.ts";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { rowsOf as statementRows } from "../../../shared/operations/statements.ts";
import type { LookUp } from "../../../shared/ports/edge-store.ts";
import { seedOrganization } from "../../database.ts";
import { edgeUnderTest, onNode, testOnNode, testSealer } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject, sha } from "./scene.ts";

const scene = openScene();

const change = (projectId: string, values: Partial<typeof projects.$inferInsert>) =>
  scene.db.update(projects).set(values).where(eq(projects.id, projectId));

async function changeSecret(projectId: string, secret: string): Promise<void> {
  const place = webhookSecretPlace({ id: projectId, organizationId: scene.organizationId });
  await change(projectId, { sealedWebhookSecret: await testSealer.seal("webhook", place, secret) });
}

/** An edge that has had a delivery of the repository, and so remembers it. */
async function edgeThatKnows() {
  const edge = edgeUnderTest(scene.db);
  expect((await deliver(edge, push(scene))).status).toBe(200);
  return edge;
}

const next = () => push(scene, { before: sha("b"), after: sha("c"), head_commit: { id: sha("c") } });

describe("a repository that is remembered", () => {
  testOnNode("is not asked about again", async () => {
    const projectId = await seedProject(scene);
    const edge = await edgeThatKnows();
    edge.options.store.inbox.hookedProjects = () => Promise.reject(new Error("asked"));
    const answer = await deliver(edge, next(), { query: "?hook=another" });
    expect(await answer.json()).toMatchObject({ success: true, status: "done" });
    expect(await deploymentsOf(scene, projectId)).toHaveLength(2);
  });

  testOnNode("sends no body on to the database any more for a secret that has changed", async () => {
    const projectId = await seedProject(scene);
    const edge = await edgeThatKnows();
    await changeSecret(projectId, "another");
    expect((await deliver(edge, next())).status).toBe(401);
    edge.options.store.inbox.claim = () => Promise.reject(new Error("stored"));
    expect((await deliver(edge, next())).status).toBe(401);
  });

  testOnNode("and has more projects by now than can be remembered is asked about as before", async () => {
    await seedProject(scene);
    const edge = await edgeThatKnows();
    for (let more = 0; more < limits.webhookSecretsTried; more++) await seedProject(scene, { secret: null });
    expect((await deliver(edge, next())).status).toBe(200);
    const { claim } = edge.options.store.inbox;
    const claimed: unknown[] = [];
    edge.options.store.inbox.claim = async (...wanted) => {
      const claims = await claim(...wanted);
      claimed.push(claims);
      return claims;
    };
    expect((await deliver(edge, push(scene, { ref: "refs/heads/other" }))).status).toBe(200);
    expect(claimed).toMatchObject([[{ attempt: 1 }]]);
  });

  test("with an old secret is refused, and with the new one taken, from the first delivery on", async () => {
    const projectId = await seedProject(scene);
    const edge = await edgeThatKnows();
    await changeSecret(projectId, "another");
    expect((await deliver(edge, next())).status).toBe(401);
    expect((await deliver(edge, next(), { secret: "another" })).status).toBe(200);
    await changeSecret(projectId, "a third");
    expect((await deliver(edge, next(), { secret: "another" })).status).toBe(401);
    expect(await rowsOf(scene)).toHaveLength(2);
    expect(await deploymentsOf(scene, projectId)).toHaveLength(2);
  });

  test.for([
    ["is unlinked", { repository: null }],
    ["goes", { deletedAt: new Date() }],
    ["is going", { deletingAt: new Date() }],
  ] as const)("whose project %s is refused at once", async ([, values]) => {
    const projectId = await seedProject(scene);
    const edge = await edgeThatKnows();
    await change(projectId, values);
    expect((await deliver(edge, next())).status).toBe(401);
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test.for([
    ["no longer deploys by itself", { autoDeploy: false }],
    ["deploys another branch", { branch: "other" }],
  ] as const)("whose project %s makes no deployment", async ([, values]) => {
    const projectId = await seedProject(scene);
    const edge = await edgeThatKnows();
    await change(projectId, values);
    expect(await (await deliver(edge, next())).json()).toMatchObject({ status: "ignored" });
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test("deploys a project that has come since", async () => {
    const one = await seedProject(scene);
    const edge = await edgeThatKnows();
    const two = await seedProject(scene, { secret: null });
    expect((await deliver(edge, next())).status).toBe(200);
    expect(await deploymentsOf(scene, one)).toHaveLength(2);
    expect(await deploymentsOf(scene, two)).toHaveLength(1);
  });

  test("speaks for an organization only as long as its project does", async () => {
    const tenant = await seedOrganization(scene.db);
    const theirs = await seedProject(scene, { organizationId: tenant.organizationId, secret: "shared" });
    const ours = await seedProject(scene, { secret: "shared" });
    const edge = edgeUnderTest(scene.db);
    await deliver(edge, push(scene), { secret: "shared" });
    await changeSecret(ours, "s3cret");
    expect((await deliver(edge, next(), { secret: "shared" })).status).toBe(200);
    expect(await deploymentsOf(scene, theirs)).toHaveLength(2);
    expect(await deploymentsOf(scene, ours)).toHaveLength(1);
  });

  test("and one that is not keep apart in one batch, and every accepted delivery is there once", async () => {
    const projectId = await seedProject(scene);
    const edge = await edgeThatKnows();
    const known = { ...scene };
    const other = { ...scene, repository: `Acme/${randomUUID()}` };
    await seedProject(other);
    await deliver(edge, push(other));
    await changeSecret(projectId, "another");
    const ids = Array.from({ length: 8 }, () => randomUUID());
    const statuses = await Promise.all(
      ids.flatMap((id) => [
        deliver(edge, push(known), { delivery: `old ${id}` }).then(({ status }) => `old ${status}`),
        deliver(edge, push(known), { delivery: `new ${id}`, secret: "another" }).then(
          ({ status }) => `new ${status}`,
        ),
        deliver(edge, push(other), { delivery: `other ${id}` }).then(({ status }) => `other ${status}`),
      ]),
    );
    expect(new Set(statuses)).toEqual(new Set(["old 401", "new 200", "other 200"]));
    const stored = (await rowsOf(scene)).map(({ deliveryId }) => deliveryId);
    expect(stored.filter((id) => /^(old|new|other) /.test(id)).sort()).toEqual(
      ids.flatMap((id) => [`new ${id}`, `other ${id}`]).sort(),
    );
  });
});

describe.runIf(onNode)("copies of one delivery in one batch", () => {
  const lookUpOf = async (hookId: string | null): Promise<LookUp> => {
    const { inbox } = edgeUnderTest(scene.db).options.store;
    const repository = scene.repository.toLowerCase();
    const asked = { repository, hookId, most: 8 };
    return { ...asked, projects: await inbox.hookedProjects(repository, hookId, 8) };
  };
  const delivery = () => ({
    provider: "git_host",
    deliveryId: "copied",
    event: "push",
    ...{ repository: scene.repository.toLowerCase(), branch: null, commitSha: null },
    headers: {},
    body: new TextEncoder().encode("{}"),
    verdict: "project_secret" as const,
  });

  test("that were looked up at other times: the outdated one is told, the other one stored", async () => {
    const projectId = await seedProject(scene);
    const before = await lookUpOf(null);
    await change(projectId, { autoDeploy: false });
    const now = await lookUpOf(null);
    const { inbox } = edgeUnderTest(scene.db).options.store;
    const [outdated, current] = await Promise.all(
      [before, now].map((lookUp) => inbox.claim(delivery(), [scene.organizationId], undefined, lookUp)),
    );
    expect(outdated).toBe("changed");
    expect(current).toMatchObject([{ organizationId: scene.organizationId, attempt: 1 }]);
    expect(await scene.db.select().from(webhookDeliveries)).toContainEqual(
      expect.objectContaining({ organizationId: scene.organizationId, deliveryId: "copied", attempts: 1 }),
    );
  });

  test("that were looked up with other hints, both right: the first is stored, the other is its copy, in one statement", async () => {
    const hookId = randomUUID();
    await seedProject(scene, { hookId });
    const lookUps = await Promise.all([lookUpOf(null), lookUpOf(hookId)]);
    const named: string[] = [];
    const { inbox } = createPostgresEdgeStore(scene.db, {
      rowsByName: (name, statement) => {
        named.push(name);
        return statementRows(scene.db, statement);
      },
    });
    const claims = await Promise.all(
      lookUps.map((lookUp) => inbox.claim(delivery(), [scene.organizationId], undefined, lookUp)),
    );
    expect(claims).toMatchObject([[{ attempt: 1 }], []]);
    expect(named).toEqual(["claim-deliveries"]);
    expect(await rowsOf(scene)).toMatchObject([{ attempts: 1 }]);
  });
});
