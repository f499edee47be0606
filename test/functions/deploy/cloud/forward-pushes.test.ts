/** A push for a promoted project, from the edge to the bytes that reach the other side (spec.md "Push handling" 6). */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sweepDeliveries } from "../../../../edge/webhooks/inbox.ts";
import {
  createPushForwarder,
  type PushForwarder,
} from "../../../../functions/deploy/cloud/forward-pushes.ts";
import { wallClock } from "../../../../shared/adapters/clocks.ts";
import { createPostgresEdgeStore } from "../../../../shared/adapters/edge-store-postgres.ts";
import { cloudLinks } from "../../../../shared/db/connection-tables.ts";
import { webhookDeliveries } from "../../../../shared/db/delivery-tables.ts";
import { projects } from "../../../../shared/db/project-tables.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { edgeUnderTest, testSealer } from "../../../edge/edge-under-test.ts";
import {
  deliver,
  deploymentsOf,
  openScene,
  push,
  rowsOf,
  seedProject,
} from "../../../edge/webhooks/scene.ts";
import { testOutgoing } from "../../../outgoing.ts";
import { silentLog } from "../../../silent-log.ts";

const scene = openScene();
let forwarder: PushForwarder;
let cloud: Server;
let url: string;
let status = 200;
let came: { path: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];

beforeEach(async () => {
  [status, came] = [200, []];
  cloud = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    came.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(status).end("{}");
  });
  await new Promise<void>((resolve) => cloud.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(cloud.address() as AddressInfo).port}`;
  forwarder = createPushForwarder({
    ...{ db: scene.db, clock: wallClock, log: silentLog, outgoing: testOutgoing(), sealer: testSealer },
  });
});
afterEach(async () => {
  await forwarder.stop();
  await new Promise((resolve) => cloud.close(resolve));
});

const link = () =>
  scene.db.insert(cloudLinks).values({
    ...{ organizationId: scene.organizationId, url, sealedToken: "-", last4: "-" },
    ...{ cloudOrganizationId: "org_x", cloudOrganizationName: "Acme" },
  });
const seedPromoted = async (seed: Parameters<typeof seedProject>[1] = {}, cloudHookId?: string) => {
  const id = await seedProject(scene, seed);
  const location = { location: "cloud", cloudProjectId: "prj_there", cloudHookId } as const;
  await scene.db.update(projects).set(location).where(eq(projects.id, id));
  return id;
};
const deliverOne = async (delivery: string, sent: Parameters<typeof deliver>[2] = {}) => {
  const answer = await deliver(edgeUnderTest(scene.db), push(scene), { ...sent, delivery });
  return [answer.status, await answer.json()];
};
const row = async () => (await rowsOf(scene))[0];
/** What a listener would have told; the look of every 30 s finds the same. */
const forward = () => forwarder.start({ listen: () => undefined });

describe("a push that only a promoted project takes", () => {
  test("is forwarded with its raw bytes and headers, and its row says where it went", async () => {
    await link();
    const projectId = await seedPromoted();
    expect(await deliverOne("f-1")).toEqual([200, { success: true, deliveryId: "f-1", status: "received" }]);
    expect(await row()).toMatchObject({ status: "received", reason: "waits_to_be_forwarded" });
    forward();
    await expect.poll(async () => (await row())?.status).toBe("done");
    expect(await row()).toMatchObject({
      reason: "forwarded_to_cloud",
      outcomes: [{ projectId, verdict: "forwarded", cloudProjectId: "prj_there", cloudUrl: url }],
    });
    const [sent] = came;
    expect(sent?.path).toBe("/api/webhooks/git_host");
    expect(sent?.body.equals(Buffer.from((await row())?.body ?? []))).toBe(true);
    expect(sent?.headers).toMatchObject({ "x-provider-event": "push", "x-provider-delivery": "f-1" });
    expect(sent?.headers["x-hub-signature-256"]).toMatch(/^sha256=/);
    expect(sent?.headers.authorization).toBeUndefined();
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
  });

  test("carries the hint of the project in the cloud whose secret signed it", async () => {
    await link();
    await seedPromoted({ secret: "another" }, "hok_another");
    await seedPromoted({}, "hok_there");
    await deliverOne("f-5");
    forward();
    await expect.poll(async () => (await row())?.status).toBe("done");
    expect(came.map(({ path }) => path)).toEqual(["/api/webhooks/git_host?hook=hok_there"]);
  });

  test("goes without a hint where none of the promoted projects has the secret that signed it", async () => {
    await link();
    await seedProject(scene, { secret: "of a local one", branch: "next" });
    await seedPromoted({}, "hok_there");
    await deliverOne("f-6", { secret: "of a local one" });
    forward();
    await expect.poll(async () => (await row())?.status).toBe("done");
    expect(came.map(({ path }) => path)).toEqual(["/api/webhooks/git_host"]);
  });

  test("goes without a hint where the secret here does not open", async () => {
    await link();
    const id = await seedPromoted({}, "hok_there");
    await deliverOne("f-7");
    await scene.db.update(projects).set({ sealedWebhookSecret: "broken" }).where(eq(projects.id, id));
    forward();
    await expect.poll(async () => (await row())?.status).toBe("done");
    expect(came.map(({ path }) => path)).toEqual(["/api/webhooks/git_host"]);
  });

  test("is forwarded once, however often it comes", async () => {
    await link();
    await seedPromoted();
    await deliverOne("f-2");
    expect((await deliverOne("f-2"))[1]).toMatchObject({ status: "duplicate" });
    forward();
    await expect.poll(async () => (await row())?.status).toBe("done");
    expect((await deliverOne("f-2"))[1]).toMatchObject({ status: "duplicate" });
    expect(came).toHaveLength(1);
  });

  test("is not forwarded where a project here takes it too, nor of another branch", async () => {
    await link();
    const here = await seedProject(scene);
    const there = await seedPromoted();
    const other = await seedPromoted({ branch: "next" });
    expect((await deliverOne("f-3"))[1]).toMatchObject({ status: "done" });
    const outcomes = (await row())?.outcomes;
    expect(outcomes).toHaveLength(3);
    expect(outcomes).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ projectId: here, verdict: "deployed" }),
        { projectId: there, verdict: "skipped", reason: "local_project_matched" },
        { projectId: other, verdict: "skipped", reason: "other_branch" },
      ]),
    );
  });
});

describe("a push that does not arrive", () => {
  test.each([
    ["an error of the cloud", 503, "cloud_answered_503"],
    ["too many at once", 429, "cloud_answered_429"],
  ])("is tried again later after %s, by the same row", async (_what, answered, reason) => {
    await link();
    await seedPromoted();
    status = answered;
    await deliverOne("g-1");
    forward();
    await expect.poll(async () => (await row())?.status).toBe("failed");
    expect(await row()).toMatchObject({ reason, forwarding: true });
    await forwarder.stop();
    status = 200;
    await scene.db.update(webhookDeliveries).set({ leaseUntil: new Date(0) });
    // The edge's own sweeper leaves it alone: it could not forward it.
    const sweep = { store: createPostgresEdgeStore(scene.db), log: silentLog, nudge: async () => undefined };
    await sweepDeliveries(sweep, new AbortController().signal);
    expect(await row()).toMatchObject({ status: "failed", reason });
    forwarder = createPushForwarder({
      ...{ db: scene.db, clock: wallClock, log: silentLog, outgoing: testOutgoing(), sealer: testSealer },
    });
    forward();
    await expect.poll(async () => (await row())?.status).toBe("done");
    expect(came).toHaveLength(2);
  });

  test("because its signature does not count there is over, and says so", async () => {
    await link();
    await seedPromoted();
    status = 401;
    await deliverOne("g-2");
    forward();
    await expect.poll(async () => (await row())?.status).toBe("failed");
    expect(await row()).toMatchObject({
      reason: "cloud_refused_signature",
      attempts: limits.deliveryAttempts,
    });
  });

  test("without a link waits for one, and is never sent by another organization's", async () => {
    await seedPromoted();
    await deliverOne("g-3");
    forward();
    await expect.poll(async () => (await row())?.status).toBe("failed");
    expect(await row()).toMatchObject({ reason: "cloud_not_linked" });
    expect(came).toEqual([]);
  });

  test("because nothing listens is tried again later", async () => {
    url = "http://127.0.0.1:9";
    await link();
    await seedPromoted();
    await deliverOne("g-4");
    forward();
    await expect.poll(async () => (await row())?.status).toBe("failed");
    expect(await row()).toMatchObject({ reason: "cloud_unreachable" });
    expect((await row())?.attempts).toBeLessThan(limits.deliveryAttempts);
  });
});
