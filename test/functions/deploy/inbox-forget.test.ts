/** How long deliveries are kept. */
import { expect, test } from "vitest";
import { forgetDeliveries } from "../../../functions/deploy/inbox/forget-old.ts";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { firstIdAt, newId } from "../../../shared/domain/identifier.ts";
import { edgeUnderTest } from "../../edge/edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, rowsOf, seedProject } from "../../edge/webhooks/scene.ts";

const scene = openScene();
const dayMs = 24 * 3_600_000;

test("deliveries are deleted after 30 days with their bodies, in bounded batches; what they deployed stays", async () => {
  const projectId = await seedProject(scene);
  await deliver(edgeUnderTest(scene.db), push(scene));
  const long = firstIdAt("delivery", Date.now() - 31 * dayMs).slice(0, 14);
  await scene.db.insert(webhookDeliveries).values(
    Array.from({ length: 25 }, () => ({
      ...{ id: `${long}${newId("delivery").slice(14)}`, organizationId: scene.organizationId },
      ...{ provider: "git_host", deliveryId: newId("delivery"), headers: {}, body: new Uint8Array() },
      status: "done" as const,
    })),
  );
  expect(await forgetDeliveries(scene.db, { nowMs: Date.now(), batch: 10 })).toBe(25);
  expect(await rowsOf(scene)).toHaveLength(1);
  expect(await forgetDeliveries(scene.db, { nowMs: Date.now() + 29 * dayMs })).toBe(0);
  expect(await forgetDeliveries(scene.db, { nowMs: Date.now() + 31 * dayMs })).toBe(1);
  expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
});
