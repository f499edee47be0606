/** Everything that the platform does on a server, as a user who is not root: all of it must go through sudo, or say that it cannot. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import { archiveOf } from "./archive-of.ts";
import { throughProxy } from "./deploy/lab-world.ts";
import { dockerApp } from "./deploy/sample-apps.ts";
import { addLabServer, bootstrap, type RunningPlatform, startRunningPlatform } from "./running-platform.ts";

describeWithLab("a server whose user is not root", ({ server, git }) => {
  const owner = "sudo-user";
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startRunningPlatform();
    await git.createRepository(owner, "web");
    await git.commit(owner, "web", { files: dockerApp("from git", "WORD") });
  });
  afterAll(() => platform.close());

  const call: RunningPlatform["call"] = (...request) => platform.call(...request);

  const project = async (serverId: string, source: Record<string, unknown>) => {
    const body = { name: "Sudo", serverId, source, build: { port: 3000 }, healthCheck: { path: "/" } };
    const made = await call("POST", "/api/projects", body);
    expect([made.status, made.text]).toEqual([201, made.text]);
    return made.body.data as { id: string; slug: string };
  };
  const fromGit = () => ({
    kind: "git",
    owner,
    repo: "web",
    branch: "main",
    cloneUrl: git.url(owner, "web"),
  });
  const deploy = async (projectId: string) => {
    const made = await call("POST", "/api/deployments", { projectId });
    expect([made.status, made.text]).toEqual([202, made.text]);
    return platform.settled(made.body.data.id);
  };
  const ofProject = (id: string) =>
    server.read(["docker", "ps", "--all", "--quiet", "--filter", `label=slipway.project=${id}`]);

  const credentials = [
    ["a password", () => ({ kind: "password", password: server.password })],
    ["a key", () => ({ kind: "key", privateKey: server.privateKey })],
  ] as const;

  describe.each(credentials)("but may use sudo, and signs in with %s", (_how, auth) => {
    let serverId: string;
    beforeAll(async () => {
      serverId = await addLabServer(platform, server, { user: "admin", auth: auth() });
    });

    it("is bootstrapped, checked and asked for its disk", async () => {
      expect(await bootstrap(platform, serverId)).toEqual({ status: "ready", error: null });
      const checked = await call("POST", `/api/servers/${serverId}/check`);
      expect(checked.body.data).toMatchObject({
        ok: true,
        ready: true,
        sudo: true,
        engine: { name: "docker" },
      });
      const disk = await call("GET", `/api/servers/${serverId}/disk`);
      expect([disk.status, disk.body.data.imageBytes]).toEqual([200, expect.any(Number)]);
      expect(disk.body.data.imageBytes).toBeGreaterThan(1_000_000);
    });

    it("takes a deployment from git, another, a rollback, a cancel, and lets go of all of it", async () => {
      const { id, slug } = await project(serverId, fromGit());
      await call("PUT", `/api/projects/${id}/env`, { set: { WORD: "it's $HOME" } });
      const visit = () => throughProxy(server, `${slug}.localhost`, "/");

      const first = await deploy(id);
      expect(first).toMatchObject({ status: "ready", error: null, isActive: true });
      expect(await visit()).toEqual({ status: 200, body: "from git\nit's $HOME" });
      const second = await deploy(id);
      expect(second).toMatchObject({ status: "ready", error: null });
      const back = await call("POST", `/api/deployments/${first.id}/rollback`);
      expect(await platform.settled(back.body.data.id)).toMatchObject({ status: "ready", mode: "image" });

      await git.commit(owner, "web", { branch: "slow", files: slowBuild });
      const slow = await call("POST", "/api/deployments", { projectId: id, branch: "slow" });
      const building = () => server.exec(["sh", "-c", 'grep -alx "sleep.4317." /proc/[0-9]*/cmdline']);
      await expect.poll(async () => (await building()).code, { timeout: 60_000 }).toBe(0);
      const cancelled = await call("POST", `/api/deployments/${slow.body.data.id}/cancel`);
      expect([200, 202]).toContain(cancelled.status);
      expect(await platform.settled(slow.body.data.id)).toMatchObject({ status: "cancelled" });
      expect((await building()).code).not.toBe(0);
      expect((await visit()).status).toBe(200);

      expect((await call("DELETE", `/api/projects/${id}`)).body).toEqual({ success: true });
      expect(await ofProject(id)).toBe("");
      expect((await visit()).status).toBe(404);
      await nothingLeft(id);
    });

    it("takes an uploaded folder", async () => {
      const { id, slug } = await project(serverId, { kind: "upload" });
      const done = await platform.deployUpload(id, await archiveOf({ "index.html": "uploaded" }));
      expect(done).toMatchObject({ status: "ready", error: null });
      expect((await throughProxy(server, `${slug}.localhost`, "/")).body).toBe("uploaded");
      expect((await call("DELETE", `/api/projects/${id}`)).status).toBe(200);
      await nothingLeft(id);
    });

    it("is forgotten once nothing is on it", async () => {
      expect((await call("DELETE", `/api/servers/${serverId}`)).body).toEqual({ success: true });
    });
  });

  /** Containers, images, networks; and nothing of it in the home of the user, who is no place to keep things. */
  async function nothingLeft(id: string): Promise<void> {
    const label = `label=slipway.project=${id}`;
    expect(await ofProject(id)).toBe("");
    expect(await server.read(["docker", "images", "--quiet", "--filter", label])).toBe("");
    expect(await server.read(["docker", "network", "ls", "--quiet", "--filter", label])).toBe("");
    expect(
      await server.read(["find", "/home/admin", "-newer", "/etc/machine-id", "-name", "*slipway*"]),
    ).toBe("");
  }

  describe("and may not use sudo", () => {
    let serverId: string;
    beforeAll(async () => {
      serverId = await addLabServer(platform, server, { user: "plain" });
    });
    const reachedAs = async (user: string) => {
      const auth = { kind: "key", privateKey: server.privateKey };
      expect((await call("PATCH", `/api/servers/${serverId}`, { user, auth })).status).toBe(200);
    };
    const needsRoot = /neither root nor may use sudo without a password/;

    it("says so to a check, a bootstrap and a look at its disk", async () => {
      const checked = await call("POST", `/api/servers/${serverId}/check`);
      expect(checked.body.data).toMatchObject({ ok: false, code: "sudo", ready: false });
      expect(checked.body.data.error).toMatch(/needs root on this server, or a user with sudo/);
      const done = await bootstrap(platform, serverId);
      expect(done).toMatchObject({
        status: "failed",
        error: { code: "sudo", message: expect.stringMatching(needsRoot) },
      });
      const disk = await call("GET", `/api/servers/${serverId}/disk`);
      expect([disk.status, disk.body]).toMatchObject([
        502,
        { code: "sudo", error: expect.stringMatching(needsRoot) },
      ]);
    });

    it("fails a deployment with that reason and a way out, and the project can be deleted", async () => {
      const { id } = await project(serverId, fromGit());
      const early = await call("POST", "/api/deployments", { projectId: id });
      expect([early.status, early.body.code]).toEqual([400, "server_not_ready"]);
      await reachedAs("admin");
      expect(await bootstrap(platform, serverId)).toMatchObject({ status: "ready" });
      await reachedAs("plain");
      expect(await deploy(id)).toMatchObject({
        status: "failed",
        error: {
          code: "server_needs_root",
          message: expect.stringMatching(needsRoot),
          hint: "Use root, or give the server's user password-less sudo.",
        },
      });
      const refused = await call("DELETE", `/api/projects/${id}`);
      expect([refused.status, refused.body.code]).toEqual([502, "sudo"]);
      expect((await call("DELETE", `/api/projects/${id}?release=1`)).status).toBe(200);
      expect((await call("DELETE", `/api/servers/${serverId}`)).status).toBe(200);
    });
  });

  it("has cost no error of ours", () => {
    expect(platform.errors()).toEqual([]);
  });
});

const slowBuild = { Dockerfile: "FROM node:24-bookworm-slim\nRUN sleep 4317\n" };
