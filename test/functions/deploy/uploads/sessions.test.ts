import { readdir } from "node:fs/promises";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepUploads } from "../../../../functions/deploy/uploads/sweep.ts";
import { createFileBlobStore } from "../../../../shared/adapters/file-blob-store.ts";
import { deployments, uploadSessions } from "../../../../shared/db/deployment-tables.ts";
import { operations } from "../../../../shared/db/operation-tables.ts";
import { projects } from "../../../../shared/db/project-tables.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { type DeployOrganization, type DeployPlatform, openDeployPlatform } from "../deploy-platform.ts";
import { archive } from "./archives.ts";

let platform: DeployPlatform;
let organization: DeployOrganization;
let serverId: string;
let git: string;
let folder: string;
const ofUploads = { source: { kind: "upload" } as const, repository: null, branch: null };

beforeAll(async () => {
  platform = await openDeployPlatform();
  organization = await platform.organization();
  serverId = await platform.addServer(organization);
  git = await platform.addProject(organization, serverId, { branch: "main" });
  folder = await platform.addProject(organization, serverId, ofUploads);
});
afterAll(() => platform.close());

const sessions = "/api/deployments/upload-sessions";
const call: DeployOrganization["call"] = (...request) => organization.call(...request);

async function open(body: Record<string, unknown> = {}): Promise<string> {
  const { status, body: answer } = await call("POST", sessions, body);
  expect(status).toBe(201);
  return answer.data.uploadSessionId;
}
const put = (id: string, body: unknown = archive({ path: "index.html", content: "hi" }), as = call) =>
  as("PUT", `${sessions}/${id}/content`, body);

async function filled(content: string, body: Record<string, unknown> = {}): Promise<string> {
  const id = await open(body);
  expect((await put(id, archive({ path: "index.html", content }))).status).toBe(200);
  return id;
}
const build = (body: Record<string, unknown>, as = call) => as("POST", "/api/deployments/build/access", body);
const expire = (id: string, ms = -1) =>
  platform.db
    .update(uploadSessions)
    .set({ expiresAt: new Date(Date.now() + ms) })
    .where(eq(uploadSessions.id, id));

describe("an upload session", () => {
  it("says where to send what, until when and how much", async () => {
    const { status, body } = await call("POST", sessions, { projectId: folder });
    expect(status).toBe(201);
    expect(Object.keys(body.data)).toEqual(["uploadSessionId", "expiresAt", "maxBytes"]);
    expect(body.data.maxBytes).toBe(limits.uploadBytes);
    const leftMs = Date.parse(body.data.expiresAt) - Date.now();
    expect(leftMs).toBeGreaterThan(59 * 60_000);
    expect(leftMs).toBeLessThanOrEqual(60 * 60_000);
  });

  it("takes content, and other content in its place", async () => {
    const id = await open();
    expect((await put(id)).body.data).toMatchObject({ uploadSessionId: id, entries: 1 });
    const two = archive({ path: "a", content: "1" }, { path: "b", content: "2" });
    expect((await put(id, two)).body.data).toMatchObject({ entries: 2 });
  });

  it("refuses unsafe content by the entry's name, and keeps what it had", async () => {
    const id = await filled("before");
    const { status, body } = await put(id, archive({ path: "../x\u0007", content: "x" }));
    expect([status, body.success, body.code]).toEqual([400, false, "archive_unsafe"]);
    expect(body.error).toContain('"../x?"');
    expect((await build({ projectId: folder, uploadSessionId: id })).status).toBe(202);
  });

  it("refuses a form and an absent body", async () => {
    const id = await open();
    const form = { "content-type": "multipart/form-data; boundary=x" };
    expect((await call("PUT", `${sessions}/${id}/content`, archive({ path: "a" }), form)).body.code).toBe(
      "wrong_content_type",
    );
    expect((await put(id, new Uint8Array())).status).toBe(400);
  });

  it("is not there for another organization, nor for a token narrowed to another project", async () => {
    const stranger = await platform.organization();
    const id = await filled("mine", { projectId: folder });
    const foreign = await put(id, archive({ path: "a" }), stranger.call);
    const absent = await put("ups_01J0000000000000000000000A");
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect(foreign.body).toEqual(absent.body);
    const narrowed = await organization.with({ projectIds: [git] });
    expect((await put(id, archive({ path: "a" }), narrowed)).status).toBe(404);
    expect((await narrowed("POST", sessions, { projectId: folder })).status).toBe(404);
    expect((await build({ projectId: git, uploadSessionId: id }, narrowed)).status).toBe(404);
    const theirs = await platform.addProject(stranger, await platform.addServer(stranger), ofUploads);
    expect((await build({ projectId: theirs, uploadSessionId: id }, stranger.call)).status).toBe(404);
  });

  it("of a person is nothing for a narrowed token of another", async () => {
    const id = await filled("mine");
    const other = await organization.with({ role: "member", projectIds: [git] });
    expect((await build({ projectId: git, uploadSessionId: id }, other)).status).toBe(404);
  });

  it("runs out after an hour", async () => {
    const id = await filled("old");
    await expire(id);
    expect((await put(id)).body).toMatchObject({ code: "upload_session_expired" });
    const started = await build({ projectId: folder, uploadSessionId: id });
    expect([started.status, started.body.code]).toEqual([400, "upload_session_expired"]);
  });

  it("goes to no cloud that is not linked", async () => {
    const { status, body } = await call("POST", sessions, { mode: "cloud" });
    expect([status, body.code]).toEqual([400, "cloud_not_linked"]);
  });
});

describe("the wizard", () => {
  it("deploys an upload and answers exactly its two ids", async () => {
    const uploadSessionId = await filled("wizard", { projectId: folder });
    const { status, body } = await build({
      projectId: folder,
      uploadSessionId,
      buildStrategy: "static",
      deployTarget: "local",
      publicEndpoints: [{ port: 8_080 }],
      services: [],
    });
    expect(status).toBe(202);
    expect(body).toEqual({ success: true, deployment_id: expect.any(String), project_id: folder });
    const shown = await call("GET", `/api/deployments/${body.deployment_id}`);
    expect(shown.body.data).toMatchObject({
      status: "queued",
      trigger: "upload",
      branch: null,
      commitSha: null,
    });
  });

  it("deploys a git project from its branch, another one, or an upload", async () => {
    const trigger = async (body: Record<string, unknown>) => {
      const started = await build({ projectId: git, ...body });
      expect(started.status).toBe(202);
      return (await call("GET", `/api/deployments/${started.body.deployment_id}`)).body.data;
    };
    expect(await trigger({})).toMatchObject({ trigger: "manual", branch: "main" });
    expect(await trigger({ branch: "next" })).toMatchObject({ trigger: "manual", branch: "next" });
    const uploadSessionId = await filled("for git");
    expect(await trigger({ uploadSessionId })).toMatchObject({ trigger: "upload", branch: null });
  });

  it.each<[string, () => Promise<Record<string, unknown>>, string]>([
    ["the cloud", async () => ({ projectId: git, deployTarget: "cloud" }), "cloud_not_linked"],
    ["a project of uploads without one", async () => ({ projectId: folder }), "upload_needed"],
    [
      "a session without content",
      async () => ({ projectId: folder, uploadSessionId: await open() }),
      "upload_incomplete",
    ],
    [
      "a session of another project",
      async () => ({ projectId: git, uploadSessionId: await filled("x", { projectId: folder }) }),
      "upload_of_other_project",
    ],
    [
      "a branch of an upload",
      async () => ({ projectId: folder, uploadSessionId: await filled("x"), branch: "main" }),
      "validation_failed",
    ],
    [
      "a service that is not there",
      async () => ({ projectId: git, services: [{ name: "db" }] }),
      "unknown_service",
    ],
    [
      "two services",
      async () => ({ projectId: git, services: [{ name: "a" }, { name: "b" }] }),
      "validation_failed",
    ],
    [
      "a strategy that is none",
      async () => ({ projectId: git, buildStrategy: "magic" }),
      "validation_failed",
    ],
  ])("refuses %s with 400", async (_, body, code) => {
    const answer = await build(await body());
    expect([answer.status, answer.body.code]).toEqual([400, code]);
  });

  it("takes no folder in cloud mode", async () => {
    const cloud = await openDeployPlatform({ mode: "cloud" });
    const theirs = await cloud.organization();
    expect((await theirs.call("POST", sessions, {})).status).toBe(403);
    await cloud.close();
  });
});

describe("a project of uploads", () => {
  it("is refused what only git has", async () => {
    expect((await call("POST", "/api/deployments", { projectId: folder })).status).toBe(400);
  });

  it("is redeployed from its latest upload, as long as that is kept", async () => {
    const project = await platform.addProject(organization, serverId, ofUploads);
    const uploadSessionId = await filled("again");
    const { body } = await build({ projectId: project, uploadSessionId });
    const again = await call("POST", `/api/deployments/${body.deployment_id}/redeploy`, {});
    expect([again.status, again.body.data.trigger]).toEqual([202, "redeploy"]);
    const rows = await platform.db.select().from(deployments).where(eq(deployments.projectId, project));
    expect(rows.map(({ uploadDigest }) => uploadDigest)).toEqual([
      rows[0]?.uploadDigest,
      rows[0]?.uploadDigest,
    ]);
    await platform.db
      .update(deployments)
      .set({ uploadDigest: "0".repeat(64) })
      .where(eq(deployments.projectId, project));
    const gone = await call("POST", `/api/deployments/${body.deployment_id}/redeploy`, {});
    expect([gone.status, gone.body.code]).toEqual([400, "upload_gone"]);
  });
});

it("a sweep takes what no session and no deployment keeps, and nothing else", async () => {
  const own = await openDeployPlatform();
  organization = await own.organization();
  const before = platform;
  platform = own;
  const project = await own.addProject(organization, await own.addServer(organization), ofUploads);
  const [unused, deployed, current] = [
    await filled("unused"),
    await filled("deployed"),
    await filled("current"),
  ];
  const ids: string[] = [];
  for (const uploadSessionId of [deployed, current]) {
    ids.push((await build({ projectId: project, uploadSessionId })).body.deployment_id);
  }
  const stored = async () => (await readdir(own.uploadFolder)).length;
  const sweep = async (hours: number) => {
    const nowMs = Date.now() + hours * 3_600_000;
    const clock = { nowMs: () => nowMs, sleep: async () => undefined };
    await sweepUploads({ db: own.db, clock, uploads: createFileBlobStore(own.uploadFolder, () => nowMs) });
    return stored();
  };
  expect(await sweep(0)).toBe(3);
  for (const id of [unused, deployed, current]) await expire(id);
  // Both deployments wait still.
  expect(await sweep(3)).toBe(2);
  for (const id of ids)
    await own.db.update(operations).set({ state: "ready", final: true }).where(eq(operations.id, id));
  await own.db
    .update(deployments)
    .set({ artifact: "kept" })
    .where(eq(deployments.id, ids[0] ?? ""));
  expect(await sweep(3)).toBe(2);
  await own.db
    .update(deployments)
    .set({ artifact: "none" })
    .where(eq(deployments.id, ids[0] ?? ""));
  expect(await sweep(3)).toBe(1);
  await own.db.update(projects).set({ deletedAt: new Date() }).where(eq(projects.id, project));
  expect(await sweep(3)).toBe(0);
  platform = before;
  await own.close();
});
