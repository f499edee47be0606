/** What a replay may do for whom: a token that sees some projects, or that may not deploy. */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { openWholeApi } from "../../contract/whole-api.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject } from "../../edge/webhooks/scene.ts";

let api: Awaited<ReturnType<typeof openWholeApi>>;
beforeAll(async () => {
  api = await openWholeApi();
});
afterAll(() => api.close());

const scene = openScene(() => api.db);

async function tokenOf(extra: Parameters<typeof seedToken>[2] = {}) {
  const owner = { organizationId: scene.organizationId, userId: scene.ownerId };
  return (await seedToken(scene.db, owner, extra)).token;
}

async function replay(token: string, body: object = {}): Promise<number> {
  const { id } = await delivery();
  const answer = await api.send(`/api/webhooks/deliveries/${id}/replay`, {
    ...{ method: "POST", token, body: JSON.stringify(body) },
    headers: { "content-type": "application/json" },
  });
  return answer.status;
}

async function delivery() {
  const [row] = await rowsOf(scene);
  if (row === undefined) throw new Error("nothing was delivered");
  return row;
}

const put = (values: Partial<typeof webhookDeliveries.$inferInsert>) =>
  scene.db
    .update(webhookDeliveries)
    .set(values)
    .where(eq(webhookDeliveries.organizationId, scene.organizationId));

test("a replay is for who may deploy: webhook:write alone is not enough, and changes nothing", async () => {
  const projectId = await seedProject(scene);
  await deliver(api, push(scene));
  expect(await replay(await tokenOf({ permissions: ["webhook:write"] }), { force: true })).toBe(403);
  expect(await delivery()).toMatchObject({ attempts: 1, replay: null });
  expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  const enough = await tokenOf({ permissions: ["webhook:write", "deployment:write"] });
  expect(await replay(enough, { force: true })).toBe(202);
});

test("a replay for some projects does not take a push from the others that are still to get it", async () => {
  const mine = await seedProject(scene);
  const other = await seedProject(scene);
  const narrow = await tokenOf({ projectIds: [mine] });
  await deliver(api, push(scene));
  const waiting = { leaseUntil: new Date(Date.now() + 60_000), attempts: 1 };
  for (const state of [
    { ...waiting, status: "failed" },
    { ...waiting, status: "received", forwarding: true },
    { ...waiting, status: "claimed", leaseUntil: new Date(0) },
  ] as const) {
    await put({ ...state, outcomes: [{ projectId: mine, verdict: "skipped", reason: "stale" }] });
    expect(await replay(narrow, { force: true })).toBe(409);
    expect(await delivery()).toMatchObject({ status: state.status, attempts: 1, replay: null });
  }
  expect(await replay(await tokenOf(), { force: true })).toBe(202);
  expect(await deploymentsOf(scene, other)).toHaveLength(2);
  await put({ status: "failed", attempts: 10, reason: "gave_up" });
  expect(await replay(narrow, { force: true })).toBe(202);
});

test("a replay of a push that goes to the cloud, for some projects, leaves what is known of the others", async () => {
  const mine = await seedProject(scene);
  const other = await seedProject(scene, { branch: "release" });
  await scene.db.update(projects).set({ location: "cloud" }).where(eq(projects.id, mine));
  await deliver(api, push(scene));
  await put({ status: "done", forwarding: false });
  expect(await replay(await tokenOf({ projectIds: [mine] }))).toBe(202);
  const { outcomes } = await delivery();
  expect(outcomes.map(({ projectId }) => projectId).sort()).toEqual([mine, other].sort());
});
