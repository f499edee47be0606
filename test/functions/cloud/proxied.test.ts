/** What is asked of a real second instance through this one, by the same paths (spec.md "Deployments"). */
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { deploymentIdsIn, rememberDeployments } from "../../../functions/deploy/cloud/remember.ts";
import { cloudResources } from "../../../shared/db/connection-tables.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { tokens } from "../../../shared/db/identity-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import type { Answered } from "../running-platform.ts";
import { openLinkedScene, projectHere, promote, promoted } from "./linked-scene.ts";
import { callerOf, ok } from "./two-instances.ts";

const scene = openLinkedScene();

describe("a deployment of the cloud", () => {
  it("is found, listed and changed by the same paths", async () => {
    const { two, acme, projectId } = scene;
    const id = await promoted(scene);
    const { cloudProjectId } = await projectHere(scene);
    const shown = await acme.call("GET", `/api/deployments/${id}`);
    expect([shown.status, shown.body.data]).toMatchObject([200, { id, projectId: cloudProjectId }]);
    for (const asked of [projectId, cloudProjectId]) {
      const listed = await acme.call("GET", `/api/deployments?projectId=${asked}&limit=1`);
      expect(listed.body).toMatchObject({ data: [{ id }], nextCursor: null });
    }
    expect((await acme.call("POST", `/api/deployments/${id}/pin`, { pinned: true })).body.data.pinned).toBe(
      true,
    );
    const again = ok(await acme.call("POST", `/api/deployments/${id}/redeploy`), 202).body.data;
    expect(again).toMatchObject({ trigger: "redeploy" });
    expect((await acme.call("GET", `/api/deployments/${again.id}`)).status).toBe(200);
    const cancelled = await acme.call("POST", `/api/deployments/${again.id}/cancel`);
    expect([200, 202]).toContain(cancelled.status);
    const more = ok(await acme.call("POST", "/api/deployments", { projectId, branch: "main" }), 202);
    expect(more.body.data.projectId).toBe(cloudProjectId);
    expect(await two.home.db.$count(deployments, eq(deployments.projectId, projectId))).toBe(0);
  });

  it("is rolled back there", async () => {
    const { two, acme } = scene;
    const id = await promoted(scene);
    await two.cloud.db
      .update(operations)
      .set({ state: "ready", final: true, inFlight: false, leaseUntil: null, finishedAt: new Date() })
      .where(eq(operations.id, id));
    const values = { config: { settled: true }, commitSha: "c".repeat(40) };
    await two.cloud.db.update(deployments).set(values).where(eq(deployments.id, id));
    const made = ok(await acme.call("POST", `/api/deployments/${id}/rollback`), 202).body.data;
    expect(made).toMatchObject({ trigger: "rollback", rollbackOf: id });
    expect((await acme.call("GET", `/api/deployments/${made.id}`)).status).toBe(200);
  });

  it("shows its refusals as they are, and takes no folder", async () => {
    const { two, acme, projectId } = scene;
    const id = await promoted(scene);
    const refused = await acme.call("POST", `/api/deployments/${id}/pin`, { pinned: "yes" });
    expect([refused.status, refused.body]).toMatchObject([400, { details: [{ path: "body.pinned" }] }]);
    const broken = await fetch(`${two.home.url}/api/deployments/${id}/pin`, {
      method: "POST",
      headers: { authorization: `Bearer ${acme.token}`, "content-type": "application/json" },
      body: "{",
    });
    expect([broken.status, await broken.json()]).toMatchObject([400, { code: "malformed_json" }]);
    const folder = await acme.call("POST", "/api/deployments/build/access", {
      ...{ projectId, uploadSessionId: "ups_x" },
    });
    expect(folder.status).toBe(403);
  });

  it("streams its events and lines, from where the reader left off, and lets the cloud go when he leaves", async () => {
    const { two, relay, acme, there } = scene;
    const id = await promoted(scene);
    const path = `/api/deployments/${id}/stream`;
    const leaving = new AbortController();
    const open = (lastEventId: string) =>
      fetch(two.home.url + path, {
        headers: { authorization: `Bearer ${acme.token}`, "last-event-id": lastEventId },
        signal: leaving.signal,
      });
    const first = await open("0");
    expect(first.headers.get("content-type")).toContain("text/event-stream");
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("id: 2\n")) text += (await reader?.read())?.value ?? "";
    expect(text).toContain('id: 1\nevent: status\ndata: {"status":"queued"}');
    const resumed = (await open("1")).body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (!rest.includes("id: 2\n")) rest += (await resumed?.read())?.value ?? "";
    expect(rest).not.toContain("id: 1\n");
    expect(relay.open.has(path)).toBe(true);
    leaving.abort();
    await expect.poll(() => relay.open.has(path), { timeout: 5_000 }).toBe(false);
    const logs = await acme.call("GET", `/api/deployments/${id}/logs?limit=10`);
    expect(logs.body).toEqual((await there.call("GET", `/api/deployments/${id}/logs?limit=10`)).body);
  });

  it("is asked for with the token of the link and nothing of the caller", async () => {
    const { relay, acme, there } = scene;
    const id = await promoted(scene);
    await acme.call("GET", `/api/deployments/${id}`, undefined, {
      ...{ cookie: "slipway_session=x", "x-organization-id": acme.owner.organizationId },
      ...{ "idempotency-key": "k", "x-slipway-identity": "forged", "x-forwarded-for": "192.0.2.1" },
    });
    expect(relay.lastHeaders["authorization"]).toBe(`Bearer ${there.token}`);
    for (const name of [
      ...["cookie", "x-organization-id", "idempotency-key", "x-slipway-identity", "x-forwarded-for"],
    ]) {
      expect([name, relay.lastHeaders[name]]).toEqual([name, undefined]);
    }
  });
});

describe("an id that the cloud answers", () => {
  it("never takes the place of a deployment that is here", async () => {
    const { two, acme, projectId } = scene;
    const before = ok(await acme.call("POST", "/api/deployments", { projectId }), 202).body.data.id;
    const there = await promoted(scene);
    const { organizationId } = acme.owner;
    await rememberDeployments(two.home.db, { id: projectId, organizationId }, [before, there]);
    const known = await two.home.db.select({ id: cloudResources.id }).from(cloudResources);
    expect(known.map(({ id }) => id)).toContain(there);
    expect(known.map(({ id }) => id)).not.toContain(before);
  });

  it("is none where it could be part of a path", () => {
    const data = [{ id: "dep_1" }, { id: "../tokens" }, { id: "a?b" }, { id: 7 }, null];
    expect(deploymentIdsIn({ data, deployment_id: "a/b" })).toEqual(["dep_1"]);
  });
});

describe("a promoted project", () => {
  it("is changed in the cloud and not here, where it would reach nothing", async () => {
    const { acme, projectId } = scene;
    await promoted(scene);
    const path = `/api/projects/${projectId}`;
    for (const [method, below, body] of [
      ["PATCH", "", { name: "Other" }],
      ["PUT", "/env", { set: { KEY: "x" } }],
      ["POST", "/domains", { hostname: "late.example.com" }],
      ["POST", "/link?rotate=1", undefined],
    ] as const) {
      const refused = await acme.call(method, path + below, body);
      expect([below, refused.status, refused.body]).toMatchObject([below, 409, { code: "project_in_cloud" }]);
    }
  });

  it("is not deployed here by what it had here before", async () => {
    const { two, acme, projectId } = scene;
    const before = ok(await acme.call("POST", "/api/deployments", { projectId }), 202).body.data.id;
    await promoted(scene);
    const again = await acme.call("POST", `/api/deployments/${before}/redeploy`);
    expect([again.status, again.body.code]).toEqual([400, "project_in_cloud"]);
    expect((await acme.call("GET", `/api/deployments/${before}`)).body.data.projectId).toBe(projectId);
    expect(await two.home.db.$count(deployments, eq(deployments.projectId, projectId))).toBe(1);
  });
});

describe("who may ask", () => {
  it("is nobody of another organization, linked or not, and no token narrowed to another project", async () => {
    const { two, relay, acme, projectId } = scene;
    const id = await promoted(scene);
    const other = await two.account(two.home);
    const elsewhere = await two.account(two.cloud);
    await other.call("PUT", "/api/cloud-link", { url: relay.url, token: elsewhere.token });
    const { token } = await seedToken(two.home.db, acme.owner, { projectIds: ["prj_other"] });
    for (const call of [other.call, callerOf(two.home.url, token)]) {
      for (const [method, path] of [
        ["GET", `/api/deployments/${id}`],
        ["GET", `/api/deployments/${id}/logs`],
        ["GET", `/api/deployments/${id}/stream`],
        ["POST", `/api/deployments/${id}/cancel`],
        ["GET", `/api/deployments?projectId=${projectId}`],
      ] as const) {
        expect([path, (await call(method, path)).status]).toEqual([path, 404]);
      }
      expect((await promote(scene, call)).status).toBe(404);
    }
  });

  it("is who holds deployment:admin here, for cancel and rollback", async () => {
    const { two, acme } = scene;
    const id = await promoted(scene);
    const { token } = await seedToken(two.home.db, acme.owner, { permissions: ["deployment:write"] });
    for (const action of ["cancel", "rollback"]) {
      const denied = await callerOf(two.home.url, token)("POST", `/api/deployments/${id}/${action}`);
      expect([denied.status, denied.body.code]).toEqual([403, "forbidden"]);
    }
  });
});

describe("a cloud that cannot be asked", () => {
  it("is 502 while it is away, and works again afterwards", async () => {
    const { relay, acme, projectId } = scene;
    const id = await promoted(scene);
    relay.isAway = true;
    for (const [method, path] of [
      ["GET", `/api/deployments/${id}`],
      ["GET", `/api/deployments/${id}/stream`],
      ["POST", `/api/deployments/${id}/redeploy`],
      ["GET", `/api/deployments?projectId=${projectId}`],
    ] as const) {
      const refused = await acme.call(method, path);
      expect([path, refused.status, refused.body]).toMatchObject([
        path,
        502,
        { success: false, code: "cloud_unreachable" },
      ]);
    }
    relay.isAway = false;
    expect((await acme.call("GET", `/api/deployments/${id}`)).status).toBe(200);
  });

  it("says clearly that the token of the link was revoked, or may not do this", async () => {
    const { two, acme, there } = scene;
    const id = await promoted(scene);
    const asked = (): Promise<Answered> => acme.call("POST", `/api/deployments/${id}/pin`);
    const ofLink = eq(tokens.organizationId, there.owner.organizationId);
    await two.cloud.db
      .update(tokens)
      .set({ permissions: ["deployment:read"] })
      .where(ofLink);
    expect(await asked()).toMatchObject({ status: 502, body: { code: "cloud_not_allowed" } });
    await two.cloud.db.update(tokens).set({ revokedAt: new Date() }).where(ofLink);
    expect(await asked()).toMatchObject({ status: 502, body: { code: "cloud_token_refused" } });
    await acme.call("DELETE", "/api/cloud-link");
    expect(await asked()).toMatchObject({ status: 400, body: { code: "cloud_not_linked" } });
  });
});
