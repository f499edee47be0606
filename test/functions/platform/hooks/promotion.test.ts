/** A project that is taken in from another instance gets its webhook as any other does, and with the secret that came along. */
import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { projects } from "../../../../shared/db/project-tables.ts";
import { servers } from "../../../../shared/db/server-tables.ts";
import { addServer } from "../platform.ts";
import { openHookScene } from "./scene.ts";

const scene = openHookScene();
const webhookSecret = "s".repeat(64);

async function promotable() {
  const { db } = scene.platform;
  await db.update(servers).set({ bootstrappedAt: new Date() }).where(eq(servers.id, scene.serverId));
  await scene.connect();
  const { kept, ...repository } = scene.repository();
  const cloneUrl = `${scene.host.url}/Acme/${repository.repo}.git`;
  const promotion = {
    originProjectId: `prj_${randomUUID().replaceAll("-", "")}`,
    project: { name: "Shop", source: { kind: "git", ...repository, cloneUrl } },
    connectionBaseUrl: scene.host.url,
    webhookSecret,
  };
  return { kept, promotion };
}

describe("a project that is promoted here", () => {
  it("is registered at its git host with the secret that it has on the other side", async () => {
    const { kept, promotion } = await promotable();
    await scene.call("POST", "/api/promotions", promotion);
    expect(kept.hooks).toMatchObject([{ config: { secret: webhookSecret } }]);
    await scene.call("POST", "/api/promotions", promotion);
    expect(kept.hooks).toMatchObject([{ config: { secret: webhookSecret } }]);
  });

  it("answers the hint of its hook here, also when it is live and left as it is", async () => {
    const { kept, promotion } = await promotable();
    const { projectId, hookId } = (await scene.call("POST", "/api/promotions", promotion)).data;
    expect(kept.hooks).toMatchObject([{ config: { url: expect.stringContaining(`?hook=${hookId}`) } }]);
    const live = { activeDeploymentId: "dep_live" };
    await scene.platform.db.update(projects).set(live).where(eq(projects.id, projectId));
    expect((await scene.call("POST", "/api/promotions", promotion)).data).toEqual({ projectId, hookId });
    const { webhookSecret: _, ...bare } = (await promotable()).promotion;
    const { source } = { source: { kind: "git", owner: "Acme", repo: "bare" } };
    const given = { ...bare, connectionBaseUrl: undefined, project: { name: "Bare", source } };
    expect((await scene.call("POST", "/api/promotions", given)).data.hookId).toBeNull();
  });

  it("moves its hook along when it comes again from another repository", async () => {
    const { kept, promotion } = await promotable();
    const { projectId } = (await scene.call("POST", "/api/promotions", promotion)).data;
    const next = await promotable();
    const { source } = next.promotion.project;
    await scene.call("POST", "/api/promotions", { ...promotion, project: { name: "Shop", source } });
    expect([kept.hooks, next.kept.hooks]).toMatchObject([[], [{ config: { secret: webhookSecret } }]]);
    expect(await scene.audited(projectId)).toContain("project.taken_in");
  });

  it("leaves no hook behind when it is refused", async () => {
    const { kept, promotion } = await promotable();
    const domains = [{ hostname: "twice.example.com" }, { hostname: "twice.example.com" }];
    const refused = await scene.acme.call("POST", "/api/promotions", { ...promotion, domains });
    expect([refused.status, refused.body.code]).toEqual([409, "hostname_taken"]);
    expect(kept.hooks).toEqual([]);
  });

  it("holds up nobody else while its git host takes its time", async () => {
    const { kept, promotion } = await promotable();
    const other = await scene.platform.organization();
    const serverId = await addServer(other.call);
    const answered: number[] = [];
    scene.host.before = async () => {
      if (answered.length > 0) return;
      const project = { name: "Other", serverId, source: { kind: "upload" } };
      answered.push((await other.call("POST", "/api/projects", project)).status);
    };
    await scene.call("POST", "/api/promotions", promotion);
    expect(answered).toEqual([201]);
    expect(kept.hooks).toHaveLength(1);
  });
});
