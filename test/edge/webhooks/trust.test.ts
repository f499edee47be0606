/** A secret speaks for its organization, the instance secret for projects without one (decisions.md section 5). */
import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { seedOrganization } from "../../database.ts";
import { edgeUnderTest } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, request, rowsOf, seedProject } from "./scene.ts";

const scene = openScene();

describe("trust is per organization", () => {
  test("a secret of one tenant never deploys another tenant's project of the same repository", async () => {
    const edge = edgeUnderTest(scene.db);
    const victim = await seedProject(scene, { secret: "secret-a" });
    const bare = await seedProject(scene, { secret: null });
    const tenantB = await seedOrganization(scene.db);
    const own = await seedProject(scene, { organizationId: tenantB.organizationId, secret: "secret-b" });
    const answer = await deliver(edge, push(scene), { secret: "secret-b" });
    expect(answer.status).toBe(200);
    expect(await deploymentsOf(scene, victim)).toEqual([]);
    expect(await deploymentsOf(scene, bare)).toEqual([]);
    expect(await deploymentsOf(scene, own)).toHaveLength(1);
    expect(await rowsOf(scene)).toEqual([]);
  });

  test("one tenant's delivery id does not use up another's", async () => {
    const edge = edgeUnderTest(scene.db);
    const victim = await seedProject(scene, { secret: "secret-a" });
    const tenantB = await seedOrganization(scene.db);
    await seedProject(scene, { organizationId: tenantB.organizationId, secret: "secret-b" });
    await deliver(edge, push(scene), { secret: "secret-b", delivery: "same" });
    await deliver(edge, push(scene), { secret: "secret-a", delivery: "same" });
    expect(await deploymentsOf(scene, victim)).toHaveLength(1);
  });

  test("a hook secret acts for all matching projects of its organization", async () => {
    const edge = edgeUnderTest(scene.db);
    const one = await seedProject(scene, { secret: "secret-1" });
    const two = await seedProject(scene, { secret: "secret-2" });
    const bare = await seedProject(scene, { secret: null });
    await deliver(edge, push(scene), { secret: "secret-2" });
    for (const projectId of [one, two, bare]) expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test("the instance secret acts only for projects without one of their own", async () => {
    const edge = edgeUnderTest(scene.db, { instanceWebhookSecret: "secret-of-the-instance" });
    const own = await seedProject(scene, { secret: "secret-1" });
    const bare = await seedProject(scene, { secret: null });
    expect((await deliver(edge, push(scene), { secret: "secret-of-the-instance" })).status).toBe(200);
    expect(await deploymentsOf(scene, own)).toEqual([]);
    expect(await deploymentsOf(scene, bare)).toHaveLength(1);
  });

  test("a hint picks the secret first but proves nothing", async () => {
    const edge = edgeUnderTest(scene.db);
    const many = limits.webhookSecretsTried;
    for (let index = 0; index < many; index++) await seedProject(scene, { secret: `filler-${index}` });
    const hookId = randomUUID();
    const last = await seedProject(scene, { secret: "the-last", hookId });
    expect((await deliver(edge, push(scene), { secret: "the-last" })).status).toBe(401);
    expect((await deliver(edge, push(scene), { secret: "wrong", query: `?hook=${hookId}` })).status).toBe(
      401,
    );
    expect((await deliver(edge, push(scene), { secret: "the-last", query: `?hook=${hookId}` })).status).toBe(
      200,
    );
    expect(await deploymentsOf(scene, last)).toHaveLength(1);
  });

  test("projects without a hook keep no secret from being tried, however many name the repository", async () => {
    const edge = edgeUnderTest(scene.db);
    const { organizationId } = await seedOrganization(scene.db);
    const bare = () => seedProject(scene, { organizationId, secret: null });
    await Promise.all(Array.from({ length: limits.hookedProjectsRead }, bare));
    const own = await seedProject(scene, { secret: "secret-a", hookId: randomUUID() });
    expect((await deliver(edge, push(scene), { secret: "secret-a" })).status).toBe(200);
    expect(await deploymentsOf(scene, own)).toHaveLength(1);
  });

  test("a body that names two repositories counts as the one it was verified for", async () => {
    const edge = edgeUnderTest(scene.db);
    const victim = await seedProject(scene, { secret: "secret-a" });
    const victims = scene.repository;
    scene.repository = `evil/${randomUUID()}`;
    const tenantB = await seedOrganization(scene.db);
    await seedProject(scene, { organizationId: tenantB.organizationId, secret: "secret-b" });
    const twice = JSON.stringify(push(scene)).replace(
      '"full_name":',
      `"full_name":${JSON.stringify(scene.repository)},"full_name":${JSON.stringify(victims)},"full_name":`,
    );
    const swapped = JSON.stringify(push(scene, { repository: { full_name: victims } })).replace(
      '"repository":',
      `"repository":{"full_name":${JSON.stringify(scene.repository)}},"repository":`,
    );
    for (const body of [twice, swapped]) await edge.send(...request(body, { secret: "secret-b" }));
    expect(await deploymentsOf(scene, victim)).toEqual([]);
  });

  test("a delivery for nobody is one row without an organization", async () => {
    const edge = edgeUnderTest(scene.db, { instanceWebhookSecret: "secret-of-the-instance" });
    const delivery = randomUUID();
    await deliver(edge, push(scene), { secret: "secret-of-the-instance", delivery });
    const rows = await scene.db
      .select()
      .from(webhookDeliveries)
      .where(eq(webhookDeliveries.deliveryId, delivery));
    expect(rows).toMatchObject([{ organizationId: null, status: "ignored", reason: "no_matching_project" }]);
  });
});
