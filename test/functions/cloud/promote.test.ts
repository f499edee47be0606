/** Promotion of a project to a real second instance, and pushes that follow it (docs/decisions/0013). */
import { and, eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { auditEntries } from "../../../shared/db/identity-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { sendSignedPush } from "../../demo/signed-push.ts";
import { seedToken } from "../../edge/edge-under-test.ts";
import {
  deploymentsThere,
  link,
  openLinkedScene,
  projectHere,
  projectsThere,
  promote,
  promoted,
} from "./linked-scene.ts";
import { addReadyServer, callerOf, ok } from "./two-instances.ts";

const scene = openLinkedScene();

describe("promoting a project", () => {
  it("brings source, environment, domains and hook secret along, and starts the deployment there", async () => {
    const { two, acme, there, projectId, repo } = scene;
    const hostname = `${repo}.example.com`;
    ok(await acme.call("POST", `/api/projects/${projectId}/domains`, { hostname }), 201);
    ok(await acme.call("PUT", `/api/projects/${projectId}/env`, { set: { KEY: "a value" } }), 200);
    ok(await acme.call("POST", `/api/projects/${projectId}/link`), 200);
    const id = await promoted(scene);
    const [made] = await projectsThere(scene);
    expect(made).toMatchObject({
      ...{ originProjectId: projectId, name: "Shop", repository: `acme/${repo}`, branch: "main" },
      ...{ volumes: ["data:/data"], build: { port: 3000 }, location: "local" },
      sealedWebhookSecret: expect.stringMatching(/^sealed:v1:webhook:/),
    });
    expect(await projectHere(scene)).toMatchObject({ location: "cloud", cloudProjectId: made?.id });
    expect((await deploymentsThere(scene)).map((each) => each.id)).toEqual([id]);
    const env = await there.call("GET", `/api/projects/${made?.id}/env`);
    expect(env.body.data.map(({ key }: { key: string }) => key)).toEqual(["KEY"]);
    const domains = await there.call("GET", `/api/projects/${made?.id}/domains`);
    expect(domains.body.data).toMatchObject([{ hostname }]);
    const audit = await two.home.db
      .select({ fields: auditEntries.fields })
      .from(auditEntries)
      .where(and(eq(auditEntries.resourceId, projectId), eq(auditEntries.action, "project.promoted")));
    expect(audit).toEqual([{ fields: ["location", "cloudProjectId"] }]);
    expect(await two.home.db.select().from(deployments).where(eq(deployments.projectId, projectId))).toEqual(
      [],
    );
  });

  it("answers the wizard with the ids of the cloud", async () => {
    const { acme, projectId } = scene;
    ok(await link(scene), 200);
    const made = await acme.call("POST", "/api/deployments/build/access", {
      ...{ projectId, deployTarget: "cloud" },
    });
    const { cloudProjectId } = await projectHere(scene);
    const [deployment] = await deploymentsThere(scene);
    expect([made.status, made.body]).toEqual([
      202,
      { success: true, deployment_id: deployment?.id, project_id: cloudProjectId },
    ]);
  });

  it("is 400 where nothing is linked, 403 for a folder, and leaves the project local", async () => {
    const { acme, projectId } = scene;
    const unlinked = await promote(scene);
    expect([unlinked.status, unlinked.body]).toMatchObject([
      400,
      { success: false, code: "cloud_not_linked" },
    ]);
    ok(await link(scene), 200);
    await acme.call("PATCH", `/api/projects/${projectId}`, { source: { kind: "upload" } });
    const folder = await acme.call("POST", "/api/deployments/build/access", {
      ...{ projectId, deployTarget: "cloud" },
    });
    expect([folder.status, folder.body.code]).toEqual([403, "folders_self_hosted_only"]);
    const session = await acme.call("POST", "/api/deployments/upload-sessions", { mode: "cloud" });
    expect([session.status, session.body.code]).toEqual([403, "folders_self_hosted_only"]);
    expect(await projectHere(scene)).toMatchObject({ location: "local", cloudProjectId: null });
  });

  it("takes a domain's port along only where the cloud can know it", async () => {
    const { two, acme, projectId, repo } = scene;
    const hostname = `${repo}.example.com`;
    ok(await acme.call("POST", `/api/projects/${projectId}/domains`, { hostname, port: 3000 }), 201);
    // As of a project whose port only the running container tells.
    await two.home.db.update(projects).set({ build: {} }).where(eq(projects.id, projectId));
    await promoted(scene);
    const [made] = await projectsThere(scene);
    const attached = await scene.there.call("GET", `/api/projects/${made?.id}/domains`);
    expect(attached.body.data).toMatchObject([{ hostname, port: null }]);
  });

  it("is done again for a project that the cloud does not have any more, when asked for", async () => {
    const { two, acme, there, projectId } = scene;
    await promoted(scene);
    const before = (await projectHere(scene)).cloudProjectId;
    await two.cloud.db.update(projects).set({ deletedAt: new Date() }).where(eq(projects.id, before));
    const gone = await acme.call("POST", "/api/deployments", { projectId });
    expect([gone.status, gone.body]).toMatchObject([404, { success: false, code: "project_not_in_cloud" }]);
    const made = ok(await promote(scene), 202).body.data;
    const { cloudProjectId } = await projectHere(scene);
    expect(cloudProjectId).not.toBe(before);
    expect(made.projectId).toBe(cloudProjectId);
    expect((await there.call("GET", `/api/projects/${cloudProjectId}`)).status).toBe(200);
    expect((await acme.call("GET", `/api/deployments/${made.id}`)).status).toBe(200);
  });

  it("needs project:write beside deployment:write", async () => {
    const { two, acme } = scene;
    ok(await link(scene), 200);
    const { token } = await seedToken(two.home.db, acme.owner, { permissions: ["deployment:write"] });
    expect((await promote(scene, callerOf(two.home.url, token))).status).toBe(403);
    expect(await projectsThere(scene)).toEqual([]);
  });

  it("makes one project there although the first answer was lost, and marks it with the second", async () => {
    const { relay, acme, there, projectId } = scene;
    ok(await link(scene), 200);
    relay.swallow = /promotions/;
    const lost = await promote(scene);
    expect([lost.status, lost.body.code]).toEqual([502, "cloud_unreachable"]);
    const [made] = await projectsThere(scene);
    expect(made?.originProjectId).toBe(projectId);
    expect(await projectHere(scene)).toMatchObject({ location: "local", cloudProjectId: null });
    relay.swallow = null;
    ok(await acme.call("PUT", `/api/projects/${projectId}/env`, { set: { LATER: "1" } }), 200);
    ok(await promote(scene), 202);
    expect(await projectsThere(scene)).toHaveLength(1);
    expect(await projectHere(scene)).toMatchObject({ location: "cloud", cloudProjectId: made?.id });
    const env = await there.call("GET", `/api/projects/${made?.id}/env`);
    expect(env.body.data).toMatchObject([{ key: "LATER" }]);
  });

  it("says in the cloud's words what must be set right there, and can be asked again", async () => {
    const { two, acme, projectId, repo } = scene;
    const hostname = `taken-${repo}.example.com`;
    const other = await two.account(two.cloud);
    const serverId = await addReadyServer(other, two.cloud.db);
    const source = { kind: "upload" };
    const held = await other.call("POST", "/api/projects", { name: "Holder", serverId, source });
    const domains = `/api/projects/${held.body.data.id}/domains`;
    const domain = ok(await other.call("POST", domains, { hostname }), 201).body.data;
    ok(await acme.call("POST", `/api/projects/${projectId}/domains`, { hostname }), 201);
    ok(await link(scene), 200);
    const refused = await promote(scene);
    expect([refused.status, refused.body]).toMatchObject([400, { code: "hostname_taken" }]);
    expect(refused.body.error).toContain(hostname);
    expect([(await projectsThere(scene)).length, (await projectHere(scene)).location]).toEqual([0, "local"]);
    ok(await other.call("DELETE", `${domains}/${domain.id}`), 200);
    ok(await promote(scene), 202);
  });
});

describe("a push for a promoted project", () => {
  it("comes to the instance, is verified by the same secret in the cloud, and deploys there", async () => {
    const { two, acme, projectId, repo } = scene;
    const hook = ok(await acme.call("POST", `/api/projects/${projectId}/link`), 200).body.data;
    await promoted(scene);
    const webhookUrl = `${two.home.url}${new URL(hook.webhookUrl).pathname}`;
    const sent = await sendSignedPush({
      ...{ webhookUrl, secret: hook.webhookSecret, owner: "acme", repo, branch: "main" },
      ...{ before: "a".repeat(40), after: "b".repeat(40), message: "Fix the roof" },
    });
    expect(sent).toMatchObject({ status: 200, body: { success: true, status: "received" } });
    const pushes = async () => (await deploymentsThere(scene)).filter(({ trigger }) => trigger === "push");
    await expect.poll(pushes, { timeout: 20_000 }).toMatchObject([{ commitSha: "b".repeat(40) }]);
    expect(await two.home.db.$count(deployments, eq(deployments.projectId, projectId))).toBe(0);
  });

  it("arrives however many others in the cloud hook the same repository with other secrets", async () => {
    const { two, acme, projectId, repo } = scene;
    const other = await two.account(two.cloud);
    const serverId = await addReadyServer(other, two.cloud.db);
    const source = { kind: "git", owner: "acme", repo, branch: "main" };
    for (let count = 0; count < limits.webhookSecretsTried; count++) {
      const name = `Older ${count}`;
      const made = ok(await other.call("POST", "/api/projects", { name, serverId, source }), 201);
      ok(await other.call("POST", `/api/projects/${made.body.data.id}/link`), 200);
    }
    const hook = ok(await acme.call("POST", `/api/projects/${projectId}/link`), 200).body.data;
    await promoted(scene);
    await sendSignedPush({
      webhookUrl: `${two.home.url}${new URL(hook.webhookUrl).pathname}`,
      ...{ secret: hook.webhookSecret, owner: "acme", repo, branch: "main" },
      ...{ before: "a".repeat(40), after: "c".repeat(40), message: "Fix the roof" },
    });
    const pushes = async () => (await deploymentsThere(scene)).filter(({ trigger }) => trigger === "push");
    await expect.poll(pushes, { timeout: 20_000 }).toMatchObject([{ commitSha: "c".repeat(40) }]);
  });
});
