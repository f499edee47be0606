/** The shape of the cloud: a push through worker, queue and module, and one of two replicas killed in the middle of it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import * as deployments from "../../shared/contract/deployments.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import type { LabServer } from "../lab/server.ts";
import { type CloudShape, startCloudShape } from "./cloud-shape.ts";
import { addServer, type Client, createClient, followDeployment, linkProject } from "./main-job.ts";
import { sampleApp } from "./sample-app.ts";
import { sendSignedPush } from "./signed-push.ts";
import { visit } from "./visitors.ts";

describeWithLab("the shape of the cloud", (lab) => {
  let machine: LabServer;
  let cloud: CloudShape;
  let client: Client;

  beforeAll(async () => {
    [machine, cloud] = await Promise.all([lab.startServer(), startCloudShape()]);
    client = createClient({ baseUrl: cloud.url, token: cloud.token });
  });
  afterAll(async () => {
    await cloud?.close();
    await machine?.remove();
  });

  it("mail, migration and the metrics of the instance are not there, in any spelling", async () => {
    for (const path of ["/api/mail/servers", "/api/migration/stack", "/api/MAIL/x", "/api/system/metrics"]) {
      expect([path, (await fetch(cloud.url + path)).status]).toEqual([path, 404]);
    }
  });

  it("a signed push goes live, also when the one of two replicas that is at it is killed in the middle", async () => {
    const serverId = await addServer(client, machine);
    const [owner, repo] = ["cloud", "killed"];
    await lab.git.createRepository(owner, repo);
    const app = sampleApp("1");
    const slow = `${app["Dockerfile"]}\nUSER root\nRUN sleep 15\nUSER nobody\n`;
    const after = await lab.git.commit(owner, repo, {
      files: { ...app, Dockerfile: slow },
      message: "First",
    });
    const project = await linkProject(client, { serverId, git: lab.git, owner, repo });
    const push = { branch: "main", before: "0".repeat(40), after, message: "First" };
    expect((await sendSignedPush({ ...project, ...push })).status).toBe(200);
    const { data } = await client.call(deployments.listDeployments, { query: { projectId: project.id } });
    const id = data[0]?.id ?? "";
    const status = async () => (await client.call(deployments.getDeployment, { params: { id } })).data.status;
    await expect.poll(status, { timeout: 60_000, interval: 200 }).toBe("building");
    const worker = () => cloud.deploys.find((each) => each.output().includes(id));
    await expect.poll(() => worker() !== undefined).toBe(true);
    await worker()?.kill();
    // The connections to the killed one break; the next ones go to the other.
    await expect.poll(() => status().catch(() => null), { timeout: 10_000 }).not.toBeNull();
    const ended = await followDeployment(client, id);
    expect([ended.status, ended.error]).toEqual(["ready", null]);
    expect((await visit(ended.urls[0] ?? "")).body).toContain("version 1");
  });
});
