import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { type DeployOrganization, type DeployPlatform, openDeployPlatform } from "./deploy-platform.ts";

let platform: DeployPlatform;
let acme: DeployOrganization;
let serverId: string;
let projectId: string;
beforeAll(async () => {
  platform = await openDeployPlatform();
});
afterAll(() => platform.close());
beforeEach(async () => {
  acme = await platform.organization();
  serverId = await platform.addServer(acme);
  projectId = await platform.addProject(acme, serverId, { branch: "main" });
});

const create = async (body: Record<string, unknown> = {}): Promise<string> => {
  const answer = await acme.call("POST", "/api/deployments", { projectId, ...body });
  expect(answer.status).toBe(202);
  return answer.body.data.id;
};
/** Ends it as the story would. */
const settle = (id: string, state: string, values: Partial<typeof deployments.$inferInsert> = {}) =>
  platform.db.transaction(async (tx) => {
    await tx
      .update(operations)
      .set({ state, final: true, finishedAt: new Date() })
      .where(eq(operations.id, id));
    await tx
      .update(deployments)
      .set({ config: { settled: true }, ...values })
      .where(eq(deployments.id, id));
  });
const activate = (id: string | null) =>
  platform.db.update(projects).set({ activeDeploymentId: id }).where(eq(projects.id, projectId));

describe("creating a deployment", () => {
  it("answers 202 with the whole row, and writes who did it", async () => {
    const { status, body } = await acme.call("POST", "/api/deployments", { projectId, trigger: "cli" });
    expect(status).toBe(202);
    expect(body.data).toMatchObject({
      projectId,
      status: "queued",
      decision: "none",
      trigger: "cli",
      branch: "main",
      commitSha: null,
      urls: [],
      isActive: false,
      pinned: false,
      artifact: "none",
      mode: null,
      startedAt: null,
      phases: {},
      error: null,
      createdBy: acme.userId,
    });
    const audit = await platform.db
      .select()
      .from(auditEntries)
      .where(eq(auditEntries.resourceId, body.data.id));
    expect(audit).toMatchObject([
      { action: "deployment.created", userId: acme.userId, sourceIp: "192.0.2.7" },
    ]);
  });

  it("refuses with 400 what cannot run, and says what to do", async () => {
    await platform.db.update(servers).set({ bootstrappedAt: null }).where(eq(servers.id, serverId));
    const { status, body } = await acme.call("POST", "/api/deployments", { projectId });
    expect([status, body]).toMatchObject([400, { success: false, code: "server_not_ready" }]);
    expect(body.error).toContain("/bootstrap");
  });

  it("is refused for a project of services, whichever way it is asked for, and leaves nothing", async () => {
    const id = await create();
    await settle(id, "failed", { commitSha: "c".repeat(40) });
    await platform.db.update(projects).set({ kind: "compose" }).where(eq(projects.id, projectId));
    for (const [path, body] of [
      ["/api/deployments", { projectId }],
      ["/api/deployments/build/access", { projectId }],
      [`/api/deployments/${id}/redeploy`, {}],
      [`/api/deployments/${id}/rollback`, undefined],
    ] as const) {
      const refused = await acme.call("POST", path, body);
      expect([path, refused.status, refused.body]).toMatchObject([
        path,
        409,
        { success: false, code: "services_not_deployable", error: expect.stringContaining("kind app") },
      ]);
    }
    expect(await platform.db.$count(deployments, eq(deployments.projectId, projectId))).toBe(1);
  });

  it("takes an empty body of type JSON for none, where a body may be left out", async () => {
    const id = await create();
    const send = (path: string) => acme.call("POST", path, undefined, { "content-type": "application/json" });
    expect((await send(`/api/deployments/${id}/pin`)).body.data).toMatchObject({ pinned: true });
    expect((await send(`/api/deployments/${id}/redeploy`)).status).toBe(202);
    const needed = await send("/api/deployments");
    expect([needed.status, needed.body.code]).toEqual([400, "malformed_json"]);
  });

  it("names every wrong field", async () => {
    for (const [change, path] of [
      [{ branch: "-x" }, "body.branch"],
      [{ branch: "a..b" }, "body.branch"],
      [{ commitSha: "HEAD" }, "body.commitSha"],
      [{ commitSha: "--upload-pack=x" }, "body.commitSha"],
      [{ trigger: "push" }, "body.trigger"],
      [{ projectId: "" }, "body.projectId"],
      [{ other: 1 }, "body.other"],
    ] as const) {
      const { status, body } = await acme.call("POST", "/api/deployments", { projectId, ...change });
      expect([status, body.success, body.details?.[0]?.path]).toEqual([400, false, path]);
    }
  });
});

describe("whose deployment it is", () => {
  it("is 404 for another organization, for a narrowed token and for an unknown id, always with the same body", async () => {
    const id = await create();
    const foreign = (await platform.organization()).call;
    const narrowed = await acme.with({ projectIds: ["prj_other"] });
    const bodies = new Set<string>();
    for (const [call, asked] of [
      [foreign, id],
      [narrowed, id],
      [acme.call, "dep_none"],
    ] as const) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/logs"],
        ["GET", "/stream"],
        ["POST", "/redeploy"],
        ["POST", "/rollback"],
        ["POST", "/cancel"],
        ["POST", "/pin"],
      ] as const) {
        const answer = await call(method, `/api/deployments/${asked}${path}`);
        expect([path, answer.status]).toEqual([path, 404]);
        bodies.add(JSON.stringify(answer.body));
      }
      const made = await call("POST", "/api/deployments", {
        projectId: call === acme.call ? "prj_none" : projectId,
      });
      expect(made.status).toBe(404);
    }
    expect(bodies.size).toBe(1);
  });

  it("is 403 without the tag, and for rollback and cancel without deployment:admin", async () => {
    const id = await create();
    const reader = await acme.with({ permissions: ["deployment:read", "deployment:list"] });
    for (const [method, path, body] of [
      ["POST", "", { projectId }],
      ["POST", `/${id}/redeploy`, undefined],
      ["POST", `/${id}/rollback`, undefined],
      ["POST", `/${id}/cancel`, undefined],
      ["POST", `/${id}/pin`, undefined],
    ] as const) {
      expect((await reader(method, `/api/deployments${path}`, body)).status).toBe(403);
    }
    expect((await reader("GET", `/api/deployments/${id}`)).status).toBe(200);
    const writer = await acme.with({ permissions: ["deployment:write"] });
    for (const path of ["rollback", "cancel"]) {
      const answer = await writer("POST", `/api/deployments/${id}/${path}`);
      expect([answer.status, answer.body]).toMatchObject([403, { success: false, code: "forbidden" }]);
    }
    expect((await writer("POST", `/api/deployments/${id}/pin`)).status).toBe(200);
    const member = await acme.with({ role: "member" });
    expect((await member("POST", `/api/deployments/${id}/cancel`)).status).toBe(403);
    const maintainer = await acme.with({ role: "maintainer" });
    expect((await maintainer("POST", `/api/deployments/${id}/cancel`)).status).toBe(200);
  });
});

describe("the list", () => {
  it("is newest first, by pages, and only of what the caller may see", async () => {
    const second = await platform.addProject(acme, serverId);
    const ids = [await create(), await create()];
    const other = (await acme.call("POST", "/api/deployments", { projectId: second })).body.data.id;
    await (await platform.organization()).call("GET", "/api/deployments");
    const all = await acme.call("GET", "/api/deployments");
    expect(all.body.data.map(({ id }: { id: string }) => id)).toEqual([other, ...ids.toReversed()]);
    const page = await acme.call("GET", "/api/deployments?limit=2");
    expect(page.body.nextCursor).not.toBeNull();
    const rest = await acme.call("GET", `/api/deployments?limit=2&cursor=${page.body.nextCursor}`);
    expect([rest.body.data.length, rest.body.nextCursor]).toEqual([1, null]);
    const narrowed = await acme.with({ projectIds: [second] });
    expect((await narrowed("GET", "/api/deployments")).body.data).toHaveLength(1);
    expect((await narrowed("GET", `/api/deployments?projectId=${projectId}`)).status).toBe(404);
    expect((await acme.call("GET", `/api/deployments?projectId=${projectId}`)).body.data).toHaveLength(2);
  });
});

describe("redeploying", () => {
  it("takes the head of the branch, or the commit of the latest deployment", async () => {
    const id = await create({ branch: "dev" });
    const none = await acme.call("POST", `/api/deployments/${id}/redeploy`, { useExistingCommit: true });
    expect([none.status, none.body.code]).toEqual([400, "no_commit_yet"]);
    await settle(id, "ready", { commitSha: "c".repeat(40), commitMessage: "Third" });
    const head = await acme.call("POST", `/api/deployments/${id}/redeploy`);
    expect(head.body.data).toMatchObject({ trigger: "redeploy", branch: "dev", commitSha: null });
    const same = await acme.call("POST", `/api/deployments/${id}/redeploy`, { useExistingCommit: true });
    expect(same.body.data).toMatchObject({ commitSha: "c".repeat(40), commitMessage: "Third" });
  });
});

describe("rolling back", () => {
  it("is 400 for the active one and for one that never went live", async () => {
    const id = await create();
    const queued = await acme.call("POST", `/api/deployments/${id}/rollback`);
    expect([queued.status, queued.body]).toMatchObject([400, { success: false, code: "nothing_to_restore" }]);
    await settle(id, "failed", { commitSha: "c".repeat(40) });
    expect((await acme.call("POST", `/api/deployments/${id}/rollback`)).body.code).toBe("nothing_to_restore");
    await settle(id, "ready", { commitSha: "c".repeat(40) });
    await activate(id);
    expect((await acme.call("POST", `/api/deployments/${id}/rollback`)).body.code).toBe("already_active");
  });

  it("uses the kept image, else builds the commit, with the configuration of then", async () => {
    const id = await create();
    await settle(id, "ready", {
      commitSha: "c".repeat(40),
      artifact: "kept",
      imageId: "sha256:1",
      containerPort: 80,
    });
    const image = await acme.call("POST", `/api/deployments/${id}/rollback`);
    expect([image.status, image.body.data]).toMatchObject([
      202,
      { trigger: "rollback", mode: "image", rollbackOf: id },
    ]);
    const [row] = await platform.db.select().from(deployments).where(eq(deployments.id, image.body.data.id));
    expect(row).toMatchObject({ imageId: "sha256:1", containerPort: 80, config: { settled: true } });
    await settle(id, "ready", { artifact: "none" });
    const rebuild = await acme.call("POST", `/api/deployments/${id}/rollback`);
    expect(rebuild.body.data).toMatchObject({ mode: "rebuild", commitSha: "c".repeat(40) });
  });
});

describe("cancelling and pinning", () => {
  it("cancels one that waits at once, and refuses a second time", async () => {
    const id = await create();
    const { status, body } = await acme.call("POST", `/api/deployments/${id}/cancel`);
    expect([status, body.data]).toMatchObject([200, { status: "cancelled", error: { code: "cancelled" } }]);
    const again = await acme.call("POST", `/api/deployments/${id}/cancel`);
    expect([again.status, again.body]).toMatchObject([400, { success: false, code: "already_over" }]);
  });

  it("pins in any state, by default true, and writes it down once", async () => {
    const id = await create();
    await settle(id, "failed");
    expect((await acme.call("POST", `/api/deployments/${id}/pin`)).body.data.pinned).toBe(true);
    expect((await acme.call("POST", `/api/deployments/${id}/pin`, {})).body.data.pinned).toBe(true);
    expect((await acme.call("POST", `/api/deployments/${id}/pin`, { pinned: false })).body.data.pinned).toBe(
      false,
    );
    const audit = await platform.db.select().from(auditEntries).where(eq(auditEntries.resourceId, id));
    expect(audit.map(({ action }) => action).sort()).toEqual([
      "deployment.created",
      "deployment.pinned",
      "deployment.unpinned",
    ]);
  });
});

describe("the stream", () => {
  it("replays a finished deployment and closes", async () => {
    const id = await create();
    await acme.call("POST", `/api/deployments/${id}/cancel`);
    const { status, body } = await acme.call("GET", `/api/deployments/${id}/stream`);
    expect(status).toBe(200);
    expect(body.match(/^event: .*$/gm)).toEqual(["event: status", "event: status", "event: complete"]);
    const rest = await acme.call("GET", `/api/deployments/${id}/stream?since=2`);
    expect(rest.body.match(/^id: .*$/gm)).toEqual(["id: 3"]);
  });
});
