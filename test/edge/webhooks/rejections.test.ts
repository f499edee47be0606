/** Deliveries that are refused over and over are told to the organizations that they concern (webhook.rejected). */
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { createRejections } from "../../../edge/webhooks/rejections.ts";
import { alerts } from "../../../shared/db/notification-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { seedOrganization } from "../../database.ts";
import { manualClock } from "../../manual-clock.ts";
import { edgeUnderTest } from "../edge-under-test.ts";
import { deliver, openScene, push, seedProject } from "./scene.ts";

const scene = openScene();

const told = async (organizationId = scene.organizationId) =>
  scene.db.select().from(alerts).where(eq(alerts.organizationId, organizationId));

test("ten refused signatures in ten minutes raise one alert for each project of the repository, once an hour", async () => {
  const edge = edgeUnderTest(scene.db);
  const projectId = await seedProject(scene);
  const other = (await seedOrganization(scene.db)).organizationId;
  await seedProject(scene, { organizationId: other });
  const refuse = async (times: number) => {
    for (let count = 0; count < times; count++) {
      expect((await deliver(edge, push(scene), { secret: "wrong" })).status).toBe(401);
    }
  };
  await refuse(9);
  expect(await told()).toEqual([]);
  await refuse(1);
  await expect.poll(async () => (await told()).length).toBe(1);
  expect((await told())[0]).toMatchObject({
    ...{ category: "webhook.rejected", projectId, resourceType: "project", resourceId: projectId },
  });
  expect(await told(other)).toHaveLength(1);
  await refuse(20);
  expect(await told()).toHaveLength(1);
  await scene.db.update(alerts).set({ createdAt: sql`now() - interval '61 minutes'` });
  await refuse(10);
  await expect.poll(async () => (await told()).length).toBe(2);
});

test("refusals count within ten minutes only, each repository by itself", async () => {
  const clock = manualClock();
  const rejections = createRejections(() => clock.nowMs());
  const note = (name: string, times: number) =>
    Array.from({ length: times }, () => rejections.note(name)).filter(Boolean).length;
  expect([note("a", 9), note("b", 9)]).toEqual([0, 0]);
  await clock.advance(limits.rejectionsMs + 1);
  expect([note("a", 9), note("a", 1), note("a", 9)]).toEqual([0, 1, 0]);
});
