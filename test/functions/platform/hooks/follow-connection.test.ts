/** What becomes of registered webhooks when the git connection of their projects leads to another address. */
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { projects } from "../../../../shared/db/project-tables.ts";
import { type GitHostApiServer, openGitHostApi } from "../../../git-host-api-server.ts";
import { openHookScene } from "./scene.ts";

const scene = openHookScene();
let next: GitHostApiServer;
beforeEach(async () => {
  next = await openGitHostApi();
});
afterEach(() => next.close());

async function registered() {
  const connectionId = await scene.connect();
  const { kept, ...repository } = scene.repository();
  const project = await scene.project({ ...repository, connectionId });
  return { id: project.id as string, connectionId, kept, moved: next.repository(`Acme/${repository.repo}`) };
}
const move = async (connectionId: string, change: Record<string, unknown> = {}) => {
  const given = { baseUrl: next.url, secret: next.token("hooks"), ...change };
  return (await scene.call("PATCH", `/api/git-connections/${connectionId}`, given)).data;
};
const show = async (id: string) => (await scene.call("GET", `/api/projects/${id}`)).data;

describe("a git connection that is given another address", () => {
  it("takes the webhook off the old host with the old token, and registers one with another secret at the new", async () => {
    const { id, connectionId, kept, moved } = await registered();
    const secret = kept.hooks[0]?.config["secret"];
    expect(await move(connectionId)).not.toHaveProperty("warnings");
    expect(kept.hooks).toEqual([]);
    expect(moved.hooks).toHaveLength(1);
    expect(moved.hooks[0]?.config["secret"]).not.toBe(secret);
    expect(await show(id)).toMatchObject({ linked: true, hookRegistered: true });
    const tokens = next.asked.map(({ headers }) => headers.authorization);
    expect(tokens).not.toContain(`Bearer ${scene.token}`);
  });

  it("moves those of all its projects, and of no other connection's", async () => {
    const { connectionId, kept } = await registered();
    const other = await registered();
    const more = Array.from({ length: 6 }, () => scene.repository());
    const moved = more.map(({ repo }) => next.repository(`Acme/${repo}`));
    for (const { kept: _, ...repository } of more) {
      await scene.project({ ...repository, connectionId });
    }
    await move(connectionId);
    expect([kept, ...more.map((each) => each.kept)].flatMap(({ hooks }) => hooks)).toEqual([]);
    expect(other.kept.hooks).toHaveLength(1);
    for (const { hooks } of moved) expect(hooks).toHaveLength(1);
  });

  it("says what stays behind and what the new host does not take; that project is unlinked, not stuck", async () => {
    const { id, connectionId, kept } = await registered();
    scene.host.revoke(scene.token);
    const { warnings } = await move(connectionId, { secret: next.token() });
    expect(warnings).toEqual([
      expect.stringMatching(/Shop.*still at the git host/),
      expect.stringMatching(/Shop.*\/link/),
    ]);
    expect(kept.hooks).toHaveLength(1);
    expect(await show(id)).toMatchObject({ linked: false, hookRegistered: false });
    expect(await scene.audited(id)).toContain("project.hook_left_behind");
  });

  it("keeps the secret of a promoted project, with which the cloud verifies", async () => {
    const { id, connectionId, kept, moved } = await registered();
    const secret = kept.hooks[0]?.config["secret"];
    const location = { location: "cloud", cloudProjectId: "prj_there" } as const;
    await scene.platform.db.update(projects).set(location).where(eq(projects.id, id));
    await move(connectionId);
    expect([kept.hooks, moved.hooks]).toMatchObject([[], [{ config: { secret } }]]);
  });
});

describe("a git connection that is given another token for the same address", () => {
  it("leaves its webhooks as they are", async () => {
    const { connectionId, kept } = await registered();
    const [hook] = structuredClone(kept.hooks);
    await scene.call("PATCH", `/api/git-connections/${connectionId}`, { secret: scene.host.token("hooks") });
    expect(kept.hooks).toEqual([hook]);
  });
});
