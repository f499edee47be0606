import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { archiveOf } from "../archive-of.ts";
import { type LabWorld, openLabWorld, throughProxy } from "./lab-world.ts";
import { type Files, nodeApp } from "./sample-apps.ts";

describeWithLab("an uploaded folder on a real server", (lab) => {
  let world: LabWorld;
  beforeAll(async () => {
    world = await openLabWorld(lab);
  });
  afterAll(() => world.close());

  const call = (method: string, path: string, body?: unknown) => world.organization.call(method, path, body);

  async function uploadProject(env: Record<string, string> = {}) {
    const values = { source: { kind: "upload" } as const, repository: null, branch: null };
    const id = await world.platform.addProject(world.organization, world.serverId, values, env);
    const { body } = await call("GET", `/api/deployments?projectId=${id}`);
    expect(body.data).toEqual([]);
    return id;
  }

  async function settled(id: string) {
    const signal = AbortSignal.timeout(150_000);
    for await (const page of world.platform.feed.follow(id, 0, signal)) void page;
    return (await call("GET", `/api/deployments/${id}`)).body.data;
  }

  async function deploy(projectId: string, files: Files) {
    const session = await call("POST", "/api/deployments/upload-sessions", { projectId });
    const { uploadSessionId } = session.body.data;
    const sent = await call(
      "PUT",
      `/api/deployments/upload-sessions/${uploadSessionId}/content`,
      await archiveOf(files),
    );
    expect([sent.status, sent.body]).toMatchObject([200, { data: { uploadSessionId } }]);
    const started = await call("POST", "/api/deployments/build/access", { projectId, uploadSessionId });
    expect(started.status).toBe(202);
    expect(started.body).toEqual({ success: true, deployment_id: expect.any(String), project_id: projectId });
    return settled(started.body.deployment_id);
  }

  const get = (deployment: { urls: string[] }) =>
    throughProxy(lab.server, new URL(deployment.urls[0] ?? "").hostname, "/");

  it("goes live as plain files, and again, and back without the upload", async () => {
    const project = await uploadProject();
    const first = await deploy(project, { "index.html": "one", "deep/er/page.html": "inner" });
    expect(first).toMatchObject({
      status: "ready",
      trigger: "upload",
      commitSha: null,
      branch: null,
      error: null,
    });
    expect(Object.keys(first.phases)).toEqual(["queue", "fetch", "build", "release", "health", "switch"]);
    expect(await get(first)).toMatchObject({ status: 200, body: "one" });

    const second = await deploy(project, { "index.html": "two" });
    expect(second).toMatchObject({ status: "ready", isActive: true });
    expect((await get(second)).body).toBe("two");

    const back = await call("POST", `/api/deployments/${first.id}/rollback`);
    expect(back.status).toBe(202);
    expect(await settled(back.body.data.id)).toMatchObject({
      status: "ready",
      mode: "image",
      rollbackOf: first.id,
    });
    expect((await get(first)).body).toBe("one");

    const again = await call("POST", `/api/deployments/${second.id}/redeploy`, {});
    expect(await settled(again.body.data.id)).toMatchObject({ status: "ready", trigger: "redeploy" });
    expect((await get(first)).body).toBe("one");
    expect(world.errors()).toEqual([]);
  });

  it("is built as the Node application that it is, and leaves nothing behind", async () => {
    const project = await uploadProject({ BUILD_WORD: "word" });
    const done = await deploy(project, nodeApp("uploaded"));
    expect(done).toMatchObject({ status: "ready", error: null });
    expect((await get(done)).body).toBe("uploaded\n1000\nword");
    const found = await lab.server.exec(
      ["sh", "-c", `find /var/lib/slipway/operations/${done.id} -name 'upload.tar.gz*'`],
      { deadlineMs: 20_000 },
    );
    expect(found.stdout.trim()).toBe("");
  });
});
