/** A signed push becomes one deployment, however often it comes (spec.md "Push handling"). */
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { operationEvents, operations } from "../../../shared/db/operation-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { insertOperation } from "../../../shared/operations/create.ts";
import { edgeUnderTest } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject, sha } from "./scene.ts";

const scene = openScene();

describe("a signed push", () => {
  test("becomes a deployment of the project, attributed to the organization's owner", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const answer = await deliver(edge, push(scene), { delivery: "d-1" });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ success: true, deliveryId: "d-1", status: "done" });
    const [deployment, ...more] = await deploymentsOf(scene, projectId);
    expect(more).toEqual([]);
    expect(deployment).toMatchObject({
      organizationId: scene.organizationId,
      trigger: "push",
      branch: "main",
      beforeSha: sha("a"),
      commitSha: sha("b"),
      commitMessage: "Fix the roof",
    });
    const [row] = await rowsOf(scene);
    expect(row).toMatchObject({ status: "done", verdict: "project_secret", reason: null, event: "push" });
    expect(row?.outcomes).toEqual([{ projectId, verdict: "deployed", deploymentId: deployment?.id }]);
    expect(deployment?.deliveryId).toBe(row?.id);
    await expect.poll(() => edge.nudged).toEqual([{ operationId: deployment?.id, projectId }]);
  });

  test("makes an operation of the very form that every other operation has", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    await deliver(edge, push(scene));
    const [deployment] = await deploymentsOf(scene, projectId);
    const id = newId("deployment");
    await scene.db.transaction((tx) =>
      insertOperation(tx, {
        id,
        organizationId: scene.organizationId,
        kind: "deployment",
        subjectId: projectId,
        state: "queued",
        createdBy: scene.ownerId,
      }),
    );
    const form = async (operationId: string) => {
      const [row] = await scene.db.select().from(operations).where(eq(operations.id, operationId));
      const events = await scene.db
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
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const payload = push(scene, {
      repository: { full_name: scene.repository.toUpperCase(), default_branch: "main" },
    });
    const answer = await deliver(edge, payload, {
      provider: "github",
      event: null,
      delivery: null,
      headers: { "x-github-event": "push", "x-github-delivery": "gh-1" },
    });
    expect(await answer.json()).toEqual({ success: true, deliveryId: "gh-1", status: "done" });
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test("of a hundred copies at once makes one deployment, by one delivery id or by many", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const copies = Array.from({ length: 100 }, (_, index) =>
      deliver(edge, push(scene), {
        delivery: index % 2 === 0 ? "same" : `d-${index}`,
        from: `192.0.2.${index}`,
      }),
    );
    const answers = await Promise.all(copies);
    expect(answers.map((answer) => answer.status)).toEqual(Array(100).fill(200));
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
    expect(await scene.db.select().from(operations).where(eq(operations.subjectId, projectId))).toHaveLength(
      1,
    );
    const statuses = (await rowsOf(scene)).map((row) => row.status).sort();
    expect(statuses).toEqual(["done", ...Array(50).fill("ignored")]);
  });

  test("sent again is dropped", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    await deliver(edge, push(scene), { delivery: "again" });
    const second = await deliver(edge, push(scene), { delivery: "again" });
    expect(second.status).toBe(200);
    expect(await second.json()).toEqual({ success: true, deliveryId: "again", status: "duplicate" });
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test("without a delivery id is told by its body", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    expect(await (await deliver(edge, push(scene), { delivery: null })).json()).toMatchObject({
      status: "done",
      deliveryId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(await (await deliver(edge, push(scene), { delivery: null })).json()).toMatchObject({
      status: "duplicate",
    });
  });

  test("is a duplicate only while its deployment is the project's newest", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const there = push(scene, { before: sha("b"), after: sha("c") });
    const back = push(scene, { before: sha("c"), after: sha("b") });
    await deliver(edge, there);
    expect(await (await deliver(edge, there)).json()).toMatchObject({ status: "ignored" });
    expect(await rowsOf(scene)).toContainEqual(expect.objectContaining({ reason: "duplicate_push" }));
    await deliver(edge, back);
    await deliver(edge, there);
    expect((await deploymentsOf(scene, projectId)).map((each) => each.commitSha)).toEqual([
      sha("c"),
      sha("b"),
      sha("c"),
    ]);
  });

  test("deploys the default branch where the project names none", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene, { branch: null });
    const repo = { full_name: scene.repository, default_branch: "trunk" };
    await deliver(edge, push(scene, { repository: repo }));
    expect(await deploymentsOf(scene, projectId)).toHaveLength(0);
    await deliver(edge, push(scene, { ref: "refs/heads/trunk", repository: repo }));
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test("keeps a message of a stranger harmless and short", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    await deliver(
      edge,
      push(scene, { head_commit: { message: `a\u0000b\u001b[31m\ud800${"x".repeat(9_000)}` } }),
    );
    const [deployment] = await deploymentsOf(scene, projectId);
    expect(deployment?.commitMessage).toMatch(/^ab\[31m\ufffdx+$/);
    expect(deployment?.commitMessage?.length).toBeLessThanOrEqual(limits.commitMessageLength);
  });
});
