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
