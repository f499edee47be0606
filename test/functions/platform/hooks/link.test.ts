import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { generateSshKey } from "../../../../shared/adapters/ssh-key.ts";
import { gitConnections } from "../../../../shared/db/connection-tables.ts";
import { hostKey } from "../platform.ts";
import { openHookScene } from "./scene.ts";

const scene = openHookScene();
const link = async (id: string, query = "") =>
  (await scene.call("POST", `/api/projects/${id}/link${query}`)).data;

/** A project whose repository the host did not have when it was made, so that nothing is registered yet. */
async function unregistered() {
  const connectionId = await scene.connect();
  const source = { owner: "Acme", repo: `late-${randomUUID()}`, connectionId };
  const { id } = await scene.project(source);
  return { id, source, kept: scene.host.repository(`Acme/${source.repo}`) };
}

describe("linking a project whose connection may manage hooks", () => {
  it("registers the webhook with a fresh secret of its own", async () => {
    const { id, kept } = await unregistered();
    const answer = await link(id);
    expect(answer).toMatchObject({ registered: true });
    expect(answer.reason).toBeUndefined();
    expect(kept.hooks).toMatchObject([
      { events: ["push"], active: true, config: { url: answer.webhookUrl, secret: answer.webhookSecret } },
    ]);
    expect(await scene.audited(id)).toEqual(["project.created", "project.linked", "project.hook_registered"]);
  });

  it("again: the same hook, no secret; it brings the host's up to date", async () => {
    const { id, kept } = await unregistered();
    const first = await link(id);
    Object.assign(kept.hooks[0] ?? {}, { active: false });
    const again = await link(id);
    expect(again).toEqual({ webhookUrl: first.webhookUrl, registered: true });
    expect(kept.hooks).toMatchObject([{ active: true, config: { secret: first.webhookSecret } }]);
  });

  it("rotate=1: a new secret here and at the host", async () => {
    const { id, kept } = await unregistered();
    const first = await link(id);
    const rotated = await link(id, "?rotate=1");
    expect(rotated).toMatchObject({ webhookUrl: first.webhookUrl, registered: true });
    expect(rotated.webhookSecret).not.toBe(first.webhookSecret);
    expect(kept.hooks).toMatchObject([{ config: { secret: rotated.webhookSecret } }]);
  });

  it("many times at once ends with one hook and the secret of the row", async () => {
    const { id, kept } = await unregistered();
    const answers = await Promise.all(Array.from({ length: 4 }, () => link(id, "?rotate=1")));
    const given = answers.map(({ webhookSecret }) => webhookSecret);
    expect(kept.hooks).toHaveLength(1);
    expect(given).toContain(kept.hooks[0]?.config["secret"]);
    const inTheEnd = kept.hooks[0]?.config["secret"];
    await link(id);
    expect(kept.hooks[0]?.config["secret"]).toBe(inTheEnd);
  });

  it("keeps its hook when something else of the project changes at the same moment", async () => {
    const { id, source, kept } = await unregistered();
    const { webhookUrl } = await link(id);
    scene.host.before = async () => {
      scene.host.before = async () => undefined;
      const changed = { kind: "git", ...source, branch: "next" };
      await scene.call("PATCH", `/api/projects/${id}`, { source: changed });
    };
    expect(await link(id)).toEqual({ webhookUrl, registered: true });
    expect(kept.hooks).toHaveLength(1);
  });

  it("leaves no hook behind when the project is given another repository at the same moment", async () => {
    const { id, source, kept } = await unregistered();
    const { kept: next, ...other } = scene.repository();
    scene.host.before = async ({ method }) => {
      if (method !== "POST") return;
      scene.host.before = async () => undefined;
      await scene.call("PATCH", `/api/projects/${id}`, { source: { kind: "git", ...source, ...other } });
    };
    expect(await link(id)).toMatchObject({ registered: false, reason: expect.stringContaining("meanwhile") });
    expect(kept.hooks).toEqual([]);
    expect(next.hooks).toHaveLength(1);
    expect((await scene.call("GET", `/api/projects/${id}`)).data.hookRegistered).toBe(true);
  });

  it("a hook that was made for a link which is gone meanwhile is removed again", async () => {
    const { id, kept } = await unregistered();
    let unlinked = false;
    scene.host.before = async ({ method }) => {
      if (method !== "POST" || unlinked) return;
      unlinked = true;
      await scene.call("DELETE", `/api/projects/${id}/link`);
    };
    expect(await link(id)).toMatchObject({ registered: false, reason: expect.stringContaining("meanwhile") });
    expect(kept.hooks).toEqual([]);
  });
});

describe("linking where nobody can register the webhook", () => {
  it.each([
    ["without a connection", null, "names no git connection"],
    ["with a deploy key", "deploy_key", "deploy key cannot"],
  ])("%s is done by hand, and says so", async (_, kind, words) => {
    const key = () => ({
      ...{ kind: "deploy_key", baseUrl: "ssh://git@git.test", hostKey: hostKey() },
      secret: generateSshKey("t").privateKey,
    });
    const connection = kind === null ? {} : { connectionId: await scene.connect(key()) };
    const { id } = await scene.project({
      owner: "Acme",
      repo: "shop",

      ...connection,
    });
    const answer = await link(id);
    expect(answer).toMatchObject({ registered: false, webhookSecret: expect.any(String) });
    expect(answer.reason).toContain(words);
    expect(answer.reason).toContain("content type application/json");
    expect(scene.host.asked).toEqual([]);
  });

  it("does not use the token for a repository that is not the cloned one", async () => {
    const connectionId = await scene.connect();
    scene.host.repository("Acme/secret");
    const cloneUrl = `${scene.host.url}/acme/own.git`;
    const { id } = await scene.project({ owner: "Acme", repo: "secret", cloneUrl, connectionId });
    expect((await link(id)).reason).toContain("not the repository that is cloned");
    expect(scene.host.asked).toEqual([]);
  });

  const refusals: [string, number, string][] = [
    ["a token that does not hold", 401, "expired or revoked"],
    ["a token without the scope", 403, "admin:repo_hook"],
    ["a repository that it may not see", 404, "Check owner and repo"],
    ["an address that the host does not take", 422, "422"],
    ["a host that fails", 503, "Try again later"],
  ];
  it.each(refusals)("%s fails no link, and no reason holds the token", async (_, status, words) => {
    const { id } = await unregistered();
    const fault = { status, body: JSON.stringify({ message: `you sent ${scene.token}` }) };
    // A list that goes, so that the refusal is that of the hook itself.
    scene.host.faults.push({ status: 200, body: "[]" }, fault, { status: 200, body: "[]" });
    const answer = await link(id);
    expect(answer).toMatchObject({ registered: false, webhookSecret: expect.any(String) });
    expect(answer.reason).toContain(words);
    expect(answer.reason).not.toContain(scene.token);
  });

  it("a host that is away fails no link; the next one finds the hook that the first has made", async () => {
    const { id, kept } = await unregistered();
    const { webhookUrl } = await link(id);
    expect(kept.hooks).toHaveLength(1);
    scene.host.faults.push({ status: 502 });
    const again = await link(id);
    expect(again).toMatchObject({ registered: false, webhookUrl });
    expect(again.reason).toContain("rotate=1");
    expect(await link(id)).toEqual({ webhookUrl, registered: true });
    expect(kept.hooks).toHaveLength(1);
  });
});

describe("unlinking", () => {
  it("removes our hook at the host, and no other", async () => {
    const { id, kept } = await unregistered();
    kept.hooks.push({
      id: 1,
      name: "web",
      active: true,
      events: ["push"],
      config: { url: "https://ci.test" },
    });
    await link(id);
    expect(kept.hooks).toHaveLength(2);
    expect(await scene.call("DELETE", `/api/projects/${id}/link`)).toEqual({ success: true });
    expect(kept.hooks.map((hook) => hook.id)).toEqual([1]);
    expect(await scene.call("DELETE", `/api/projects/${id}/link`)).toEqual({ success: true });
  });

  it("takes a hook that is gone already as removed", async () => {
    const { id, kept } = await unregistered();
    await link(id);
    kept.hooks.length = 0;
    expect(await scene.call("DELETE", `/api/projects/${id}/link`)).toEqual({ success: true });
  });

  it("goes although the host does not let us, and says so", async () => {
    const { id } = await unregistered();
    await link(id);
    scene.host.revoke(scene.token);
    const answer = await scene.call("DELETE", `/api/projects/${id}/link`);
    expect(answer).toMatchObject({ success: true, reason: expect.stringContaining("still at the git host") });
    expect((await scene.call("GET", `/api/projects/${id}`)).data).toMatchObject({
      linked: false,
      hookRegistered: false,
    });
    expect(await scene.audited(id)).toContain("project.hook_left_behind");
  });

  it("asks no other host for a hook of the same number", async () => {
    const { id, source } = await unregistered();
    await link(id);
    // As of a connection that was changed before hooks followed it.
    await scene.platform.db
      .update(gitConnections)
      .set({ baseUrl: `${scene.host.url}/elsewhere` })
      .where(eq(gitConnections.id, source.connectionId));
    const before = scene.host.asked.length;
    const answer = await scene.call("DELETE", `/api/projects/${id}/link`);
    expect(answer.reason).toContain("another address");
    expect(scene.host.asked).toHaveLength(before);
  });
});
