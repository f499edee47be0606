/** The webhook rows of the error table of spec.md, and what happens after a failure. */
import { createHmac, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sweepDeliveries } from "../../../edge/webhooks/inbox.ts";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { edgeUnderTest, onNode, testOnNode } from "../edge-under-test.ts";
import { deliver, deploymentsOf, openScene, push, request, rowsOf, seedProject, sha } from "./scene.ts";

const scene = openScene();
const running = new AbortController().signal;

describe("refusals, in the order of spec.md", () => {
  test.each(["payments", "deliveries", "nobody", "GIT_HOST", "constructor", "a b"])(
    "the provider %s is not configured, whatever is sent",
    async (name) => {
      const edge = edgeUnderTest(scene.db);
      const answer = await edge.send(`/api/webhooks/${encodeURIComponent(name)}`, {
        method: "POST",
        body: "{",
      });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toEqual({ error: `Webhook provider '${name}' is not configured` });
    },
  );

  test("a signature that is missing, malformed or of another secret or body is 401", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    const body = JSON.stringify(push(scene));
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
    expect((await deliver(edge, push(scene), { secret: "other" })).status).toBe(401);
    const [path, init] = request(body);
    expect((await edge.send(path, { ...init, body: `${body} ` })).status).toBe(401);
    expect(await rowsOf(scene)).toEqual([]);
    const counted = [{ status: 401, source: "192.0.2.1", count: signatures.length + 2 }];
    if (onNode) expect(edge.counters.list()).toMatchObject(counted);
  });

  test("where no secret resolves it is 401: there is no unsigned path", async () => {
    const edge = edgeUnderTest(scene.db);
    expect((await deliver(edge, push(scene))).status).toBe(401);
    expect((await deliver(edge, push(scene), { secret: "" })).status).toBe(401);
    const nobody = edgeUnderTest(scene.db, { instanceWebhookSecret: "" });
    expect((await deliver(nobody, push(scene), { secret: "" })).status).toBe(401);
  });

  test("a body that is not JSON is 400 when the instance signed it, else 401", async () => {
    const edge = edgeUnderTest(scene.db, { instanceWebhookSecret: "secret-of-the-instance" });
    await seedProject(scene);
    for (const body of ["", "{", "payload=%7B%7D", "\ufeff\ufeff{}"]) {
      expect((await edge.send(...request(body, { secret: "secret-of-the-instance" }))).status).toBe(400);
      expect((await edge.send(...request(body, { secret: "s3cret" }))).status).toBe(401);
    }
    const broken = new Uint8Array([0x22, 0xff, 0x22]);
    expect((await edge.send(...request(broken, { secret: "secret-of-the-instance" }))).status).toBe(400);
  });

  test("JSON of any other form is no error of the sender", async () => {
    const edge = edgeUnderTest(scene.db, { instanceWebhookSecret: "secret-of-the-instance" });
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
      const answer = await edge.send(...request(body, { secret: "secret-of-the-instance" }));
      expect([body.slice(0, 40), answer.status]).toEqual([body.slice(0, 40), 200]);
      expect(await answer.json()).toMatchObject({ success: true, status: "ignored" });
    }
  });

  testOnNode(
    "a handler that throws is 200 with success: false, and the sweeper makes up for it",
    async () => {
      const edge = edgeUnderTest(scene.db);
      const projectId = await seedProject(scene);
      const { settle } = edge.options.store.inbox;
      edge.options.store.inbox.settle = () => Promise.reject(new Error("relation does not exist"));
      const answer = await deliver(edge, push(scene));
      expect(answer.status).toBe(200);
      const body = await answer.json();
      expect(body).toEqual({ success: false, error: expect.not.stringContaining("relation") });
      expect(await rowsOf(scene)).toMatchObject([
        { status: "failed", reason: "handler_failed", attempts: 1 },
      ]);

      edge.options.store.inbox.settle = settle;
      await sweepDeliveries(edge.options, running);
      expect(await deploymentsOf(scene, projectId)).toEqual([]);
      await scene.db.update(webhookDeliveries).set({ leaseUntil: new Date(0) });
      await sweepDeliveries(edge.options, running);
      expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
      expect(await rowsOf(scene)).toMatchObject([{ status: "done", attempts: 2 }]);
      expect(edge.nudged).toHaveLength(1);
    },
  );

  testOnNode("a failed delivery that is sent again runs again", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const { settle } = edge.options.store.inbox;
    edge.options.store.inbox.settle = () => Promise.reject(new Error("no"));
    await deliver(edge, push(scene), { delivery: "r" });
    edge.options.store.inbox.settle = settle;
    expect(await (await deliver(edge, push(scene), { delivery: "r" })).json()).toMatchObject({
      status: "done",
    });
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  test("a delivery whose handler died is taken over once its claim ran out, and the dead one can write nothing", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const { inbox } = edge.options.store;
    const delivery = {
      provider: "git_host",
      deliveryId: "dead",
      event: "push",
      ...{ repository: null, branch: null, commitSha: null },
      headers: {},
      body: new TextEncoder().encode(JSON.stringify(push(scene))),
      verdict: "project_secret" as const,
    };
    const [dead] = [await inbox.claim(delivery, [scene.organizationId])].flat();
    expect(await (await deliver(edge, push(scene), { delivery: "dead" })).json()).toMatchObject({
      status: "duplicate",
    });
    await scene.db.update(webhookDeliveries).set({ leaseUntil: new Date(0) });
    expect(await (await deliver(edge, push(scene), { delivery: "dead" })).json()).toMatchObject({
      status: "done",
    });
    if (dead === undefined || dead === "changed") throw new Error("not claimed");
    expect(await inbox.settle(dead, { reason: "late", outcomes: [] })).toBeNull();
    expect(await rowsOf(scene)).toMatchObject([{ status: "done", attempts: 2 }]);
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });

  const claimTwenty = async ({ inbox }: ReturnType<typeof edgeUnderTest>["options"]["store"]) => {
    for (let index = 0; index < 20; index++) {
      const after = index.toString(16).padStart(40, "0").replace(/^0/, "c");
      const body = new TextEncoder().encode(JSON.stringify(push(scene, { after })));
      const rest = { provider: "git_host", deliveryId: randomUUID(), event: "push", headers: {} };
      await inbox.claim(
        { ...rest, body, verdict: "project_secret", repository: null, branch: null, commitSha: null },
        [scene.organizationId],
      );
    }
  };

  testOnNode("one sweep takes up all that a killed platform left over, however much it is", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const { inbox } = edge.options.store;
    await claimTwenty(edge.options.store);
    await sweepDeliveries(edge.options, running);
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
    await inbox.endClaimsOfTheDead();
    await sweepDeliveries(edge.options, running);
    expect((await rowsOf(scene)).map(({ status }) => status)).toEqual(Array(20).fill("done"));
    expect(await deploymentsOf(scene, projectId)).toHaveLength(20);
  });

  testOnNode(
    "a sweep that is stopped finishes what it has taken, and leaves the rest as it was",
    async () => {
      const stopping = new AbortController();
      const edge = edgeUnderTest(scene.db, { nudge: async () => stopping.abort() });
      const projectId = await seedProject(scene);
      const { inbox } = edge.options.store;
      await claimTwenty(edge.options.store);
      await inbox.endClaimsOfTheDead();
      await sweepDeliveries(edge.options, stopping.signal);
      const made = await deploymentsOf(scene, projectId);
      const rows = await rowsOf(scene);
      expect(made.length).toBeLessThan(20);
      expect(rows.filter(({ status }) => status === "done")).toHaveLength(made.length);
      // As before: nobody waits for the end of a lease that this sweep took.
      expect(rows.filter(({ status, attempts }) => status === "claimed" && attempts === 1)).toHaveLength(
        20 - made.length,
      );
      await sweepDeliveries(edge.options, stopping.signal);
      expect(await deploymentsOf(scene, projectId)).toHaveLength(made.length);
      await sweepDeliveries(edge.options, running);
      expect(await deploymentsOf(scene, projectId)).toHaveLength(20);
    },
  );

  test("a delivery that kills its handler each time is given up, and says so", async () => {
    const edge = edgeUnderTest(scene.db);
    const projectId = await seedProject(scene);
    const { inbox } = edge.options.store;
    const verdict = "project_secret" as const;
    const body = new TextEncoder().encode("{}");
    const delivery = {
      provider: "git_host",
      deliveryId: randomUUID(),
      event: "push",
      ...{ repository: null, branch: null, commitSha: null },
      headers: {},
      body,
      verdict,
    };
    await inbox.claim(delivery, [scene.organizationId]);
    for (let attempt = 1; attempt <= limits.deliveryAttempts; attempt++) {
      await inbox.endClaimsOfTheDead();
      await inbox.reclaim(50);
    }
    expect(await rowsOf(scene)).toMatchObject([
      { status: "failed", reason: "gave_up", attempts: limits.deliveryAttempts },
    ]);
    expect(await deploymentsOf(scene, projectId)).toEqual([]);
    // The platform died over the last attempt, and is there again.
    await scene.db.update(webhookDeliveries).set({ status: "claimed", reason: null });
    await inbox.endClaimsOfTheDead();
    await inbox.reclaim(50);
    expect(await rowsOf(scene)).toMatchObject([{ status: "failed", reason: "gave_up" }]);
  });

  testOnNode("a database that cannot store it is 503, so that the git host sends it again", async () => {
    const edge = edgeUnderTest(scene.db);
    await seedProject(scene);
    edge.options.store.inbox.claim = () => Promise.reject(new Error("connection terminated"));
    const answer = await deliver(edge, push(scene));
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("30");
    expect(await answer.text()).not.toContain("connection terminated");
  });

  test("a nudge that is lost changes nothing", async () => {
    const edge = edgeUnderTest(scene.db, { nudge: () => Promise.reject(new Error("queue down")) });
    const projectId = await seedProject(scene);
    expect((await deliver(edge, push(scene))).status).toBe(200);
    expect(await deploymentsOf(scene, projectId)).toHaveLength(1);
  });
});
