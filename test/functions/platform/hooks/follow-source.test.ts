import { describe, expect, it } from "vitest";
import { addDeployment } from "../platform.ts";
import { openHookScene } from "./scene.ts";

const scene = openHookScene();
const change = async (id: string, source: Record<string, unknown>) =>
  (await scene.call("PATCH", `/api/projects/${id}`, { source: { kind: "git", ...source } })).data;

async function registered() {
  const connectionId = await scene.connect();
  const { kept, ...repository } = scene.repository();
  const project = await scene.project({ ...repository, connectionId });
  return { id: project.id as string, project, kept, source: { ...repository, connectionId } };
}

describe("a repository that is linked to a project", () => {
  it("gets its webhook when the project is created", async () => {
    const { id, project, kept } = await registered();
    expect(project).toMatchObject({ linked: true, hookRegistered: true });
    expect(kept.hooks).toHaveLength(1);
    const { data } = await scene.call("POST", `/api/projects/${id}/link`);
    expect(data).toEqual({ webhookUrl: kept.hooks[0]?.config["url"], registered: true });
    expect(await scene.audited(id)).toEqual(["project.created", "project.hook_registered", "project.linked"]);
  });

  it("is created all the same where the host says no; no secret is left that nobody has seen", async () => {
    const connectionId = await scene.connect();
    const project = await scene.project({ owner: "Acme", repo: "missing", connectionId });
    expect(project).toMatchObject({ linked: false, hookRegistered: false });
    const { data } = await scene.call("POST", `/api/projects/${project.id}/link`);
    expect(data).toMatchObject({ registered: false, webhookSecret: expect.any(String) });
  });

  it("gets it when the project is given a connection later, with the secret it has", async () => {
    const { kept, ...repository } = scene.repository();
    const { id } = await scene.project({
      ...repository,
      cloneUrl: `${scene.host.url}/acme/${repository.repo}.git`,
    });
    const byHand = (await scene.call("POST", `/api/projects/${id}/link`)).data;
    expect(kept.hooks).toEqual([]);
    const connectionId = await scene.connect();
    expect(await change(id, { ...repository, connectionId })).toMatchObject({ hookRegistered: true });
    expect(kept.hooks).toMatchObject([{ config: { secret: byHand.webhookSecret, url: byHand.webhookUrl } }]);
  });

  it("keeps its webhook when only the branch changes, or the connection to the same place", async () => {
    const { id, kept, source } = await registered();
    const [hook] = structuredClone(kept.hooks);
    await change(id, { ...source, branch: "next" });
    await change(id, { ...source, connectionId: await scene.connect() });
    expect(kept.hooks).toEqual([hook]);
  });

  it("loses it when the project is given another one, which gets a hook with another secret", async () => {
    const { id, kept, source } = await registered();
    const secret = kept.hooks[0]?.config["secret"];
    const { kept: next, ...repository } = scene.repository();
    expect(await change(id, { ...source, ...repository })).toMatchObject({ hookRegistered: true });
    expect(kept.hooks).toEqual([]);
    expect(next.hooks).toHaveLength(1);
    expect(next.hooks[0]?.config["secret"]).not.toBe(secret);
  });

  it("loses it when the project drops the connection, or becomes one of uploads", async () => {
    for (const source of [{ kind: "git", owner: "Acme", repo: "open" }, { kind: "upload" }]) {
      const { id, kept } = await registered();
      const { data } = await scene.call("PATCH", `/api/projects/${id}`, { source });
      expect(data).toMatchObject({ linked: false, hookRegistered: false });
      expect(kept.hooks).toEqual([]);
    }
  });
});

describe("a webhook that a person has added", () => {
  const cloneUrl = (host: string, repo: string) => `https://${host}/acme/${repo}.git`;
  async function added() {
    const { kept: _, ...repository } = scene.repository();
    const source = { ...repository, cloneUrl: cloneUrl("git.test", repository.repo) };
    const { id } = await scene.project(source);
    const hook = (await scene.call("POST", `/api/projects/${id}/link`)).data;
    return { id: id as string, source, hook };
  }

  it("counts no more when the project is given another repository; the answer says so, and link makes another", async () => {
    for (const other of [
      { repo: "another", cloneUrl: cloneUrl("git.test", "another") },
      { cloneUrl: "https://elsewhere.test/acme/same.git" },
    ]) {
      const { id, source, hook } = await added();
      const data = await change(id, { ...source, ...other });
      expect(data).toMatchObject({ linked: false, warnings: [expect.stringContaining(source.repo)] });
      expect(data.warnings[0]).toContain(`/api/projects/${id}/link`);
      const again = (await scene.call("POST", `/api/projects/${id}/link`)).data;
      expect(again.webhookSecret).toMatch(/^\w{64}$/);
      expect([again.webhookUrl, again.webhookSecret]).not.toContain(hook.webhookUrl);
      expect(again.webhookSecret).not.toBe(hook.webhookSecret);
    }
  });

  it("gives way to a registered one with another secret where the new repository's connection can", async () => {
    const { id, source, hook } = await added();
    const { kept, ...repository } = scene.repository();
    const connectionId = await scene.connect();
    const data = await change(id, { ...repository, connectionId });
    expect(data).toMatchObject({ hookRegistered: true, warnings: [expect.stringContaining(source.repo)] });
    expect(data.warnings[0]).not.toContain("/link");
    expect(kept.hooks).toHaveLength(1);
    expect(kept.hooks[0]?.config["secret"]).not.toBe(hook.webhookSecret);
    expect(kept.hooks[0]?.config["url"]).not.toBe(hook.webhookUrl);
  });

  it("goes with the source, without a way to link, when the project becomes one of uploads", async () => {
    const { id } = await added();
    const { data } = await scene.call("PATCH", `/api/projects/${id}`, { source: { kind: "upload" } });
    expect(data).toMatchObject({ linked: false, warnings: [expect.not.stringContaining("/link")] });
  });

  it("counts on for the same repository: another branch, another spelling, another way to fetch it", async () => {
    const { id, source, hook } = await added();
    const owner = source.owner.toUpperCase();
    for (const same of [
      { branch: "next" },
      { owner },
      { cloneUrl: `http://git.test:8080/acme/${source.repo}` },
    ]) {
      const data = await change(id, { ...source, ...same });
      expect(data.linked).toBe(true);
      expect(data).not.toHaveProperty("warnings");
    }
    const { data } = await scene.call("POST", `/api/projects/${id}/link`);
    expect(data.webhookUrl).toBe(hook.webhookUrl);
  });

  it("counts no more when its connection leads to another host", async () => {
    const { kept: _, ...repository } = scene.repository();
    const deploysOnly = { secret: scene.host.token() };
    const connectionId = await scene.connect(deploysOnly);
    const { id } = await scene.project({ ...repository, connectionId });
    expect((await scene.call("POST", `/api/projects/${id}/link`)).data.registered).toBe(false);
    const patched = { baseUrl: "https://elsewhere.test", secret: "another-token-1234" };
    const { data } = await scene.call("PATCH", `/api/git-connections/${connectionId}`, patched);
    expect(data.warnings).toEqual([expect.stringContaining(`/api/projects/${id}/link`)]);
    expect((await scene.call("GET", `/api/projects/${id}`)).data.linked).toBe(false);
  });
});

describe("a project that is deleted", () => {
  const remove = (id: string, query = "") => scene.call("DELETE", `/api/projects/${id}${query}`);

  it("takes its webhook along", async () => {
    const { id, kept } = await registered();
    await remove(id);
    expect(kept.hooks).toEqual([]);
  });

  it("takes it along when it is released, and goes although the host is away", async () => {
    const { id, kept } = await registered();
    await remove(id, "?release=1");
    expect(kept.hooks).toEqual([]);
    const other = await registered();
    scene.host.faults.push({ status: 503 });
    await remove(other.id, "?release=1");
    expect(other.kept.hooks).toHaveLength(1);
    expect(await scene.audited(other.id)).toContain("project.hook_left_behind");
  });

  it("takes it along with its removal from the server", async () => {
    const { id, kept } = await registered();
    await addDeployment(scene.platform.db, id, null, { active: false });
    scene.platform.shell.answer({ stdout: "gone" });
    scene.platform.startRunner();
    await remove(id);
    expect(kept.hooks).toEqual([]);
  });
});
