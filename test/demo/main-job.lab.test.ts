/**
 * The main job through the front door only: the platform in a process of its own, as a user starts it, a managed server
 * and a git host of the lab. What a crash, a cancel and a storm of repeats do to it.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import * as deployments from "../../shared/contract/deployments.ts";
import { describeWithLab } from "../lab/describe-with-lab.ts";
import type { LabServer } from "../lab/server.ts";
import {
  addServer,
  type Client,
  createClient,
  followDeployment,
  type LinkedProject,
  latestDeployment,
  linkProject,
} from "./main-job.ts";
import {
  makeDataFolder,
  type PlatformProcess,
  removeDataFolder,
  runCli,
  startPlatform,
} from "./platform-process.ts";
import { sampleApp } from "./sample-app.ts";
import { sendSignedPush } from "./signed-push.ts";
import { visit } from "./visitors.ts";

const owner = "main-job";
const noCommit = "0".repeat(40);
const buildLines = Array.from({ length: 30 }, (_, index) => `step ${index + 1} of 30`);

/** The sample app with a build that takes about nine seconds and says so line by line. */
function slowApp(version: string): Record<string, string> {
  const app = sampleApp(version);
  const slow = `RUN for n in $(seq 1 30); do echo "step $n of 30"; sleep 0.3; done; echo ${version}`;
  return {
    ...app,
    Dockerfile: `${app["Dockerfile"]}${slow.replace("RUN", "USER root\nRUN")}\nUSER nobody\n`,
  };
}

describeWithLab("The main job, through the front door", (lab) => {
  let machine: LabServer;
  let platform: PlatformProcess;
  let client: Client;
  let serverId: string;

  beforeAll(async () => {
    const dataFolder = await makeDataFolder();
    [machine, platform] = await Promise.all([lab.startServer(), startPlatform({ dataFolder })]);
    const { token } = await runCli<{ token: string }>(
      ["init", "--org", "Acme", "--email", "owner@example.com", "--password-stdin"],
      { dataFolder, stdin: "correct horse battery staple\n" },
    );
    client = createClient({ baseUrl: platform.url, token });
    serverId = await addServer(client, machine);
  });

  afterAll(async () => {
    await platform?.stop();
    await machine?.remove();
    if (platform !== undefined) await removeDataFolder(platform.dataFolder);
  });

  async function makeProject(
    repo: string,
    files: Record<string, string>,
  ): Promise<{ project: LinkedProject; sha: string }> {
    await lab.git.createRepository(owner, repo);
    const sha = await lab.git.commit(owner, repo, { files, message: `First of ${repo}` });
    return { project: await linkProject(client, { serverId, git: lab.git, owner, repo }), sha };
  }

  async function push(project: LinkedProject, before: string, after: string, deliveryId?: string) {
    const { webhookUrl, secret, repo } = project;
    const id = deliveryId === undefined ? {} : { deliveryId };
    return sendSignedPush({
      webhookUrl,
      secret,
      owner,
      repo,
      branch: "main",
      before,
      after,
      message: "pushed",
      ...id,
    });
  }

  async function newest(project: LinkedProject) {
    const found = await latestDeployment(client, project.id);
    if (found === undefined) throw new Error("no deployment");
    return found;
  }

  /** Resolves when the build has said the line. */
  async function untilSaid(deploymentId: string, line: string): Promise<void> {
    for await (const event of client.stream(deployments.streamDeployment, { params: { id: deploymentId } })) {
      if (event.event === "log" && saidBy(event.data).endsWith(line)) return;
      if (event.event === "complete")
        throw new Error(`It ended before "${line}": ${JSON.stringify(event.data)}`);
    }
  }

  function saidBy(data: unknown): string {
    return (data as { line?: string }).line ?? "";
  }

  it("a build goes on while the platform is killed with -9: it ends ready, without a gap in the log and no line twice", async () => {
    const { project, sha } = await makeProject("killed", slowApp("1"));
    await push(project, noCommit, sha);
    const { id } = await newest(project);
    await untilSaid(id, "step 5 of 30");
    await platform.kill();
    const { dataFolder, url } = platform;
    platform = await startPlatform({ dataFolder, port: Number(new URL(url).port) });

    const ended = await followDeployment(client, id);
    expect(ended).toMatchObject({ status: "ready", error: null });
    const seqs: number[] = [];
    const lines: string[] = [];
    for await (const event of client.stream(deployments.streamDeployment, { params: { id } })) {
      seqs.push(Number(event.id));
      const step = /step \d+ of 30$/.exec(saidBy(event.data));
      if (event.event === "log" && step !== null && !saidBy(event.data).includes("RUN")) lines.push(step[0]);
    }
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(lines).toEqual(buildLines);
    expect((await visit(ended.urls[0] ?? "")).body).toBe("Hello from version 1");
  });

  it("a cancel during the build leaves nothing running and the old version serving", async () => {
    const { project, sha } = await makeProject("cancelled", sampleApp("1"));
    await push(project, noCommit, sha);
    const live = await followDeployment(client, (await newest(project)).id);
    expect(live.status).toBe("ready");
    const before = await leftOn(machine, project.id);

    const next = await lab.git.commit(owner, "cancelled", { files: slowApp("2") });
    await push(project, sha, next);
    const { id } = await newest(project);
    await untilSaid(id, "step 3 of 30");
    const { data: cancelled } = await client.call(deployments.cancelDeployment, { params: { id } });

    expect(cancelled.status).toBe("cancelled");
    expect(await leftOn(machine, project.id)).toEqual(before);
    expect(
      (await machine.read(["ps", "-eo", "args"]))
        .split("\n")
        .filter((line) => /seq 1 30|docker build/.test(line)),
    ).toEqual([]);
    expect((await visit(live.urls[0] ?? "")).body).toBe("Hello from version 1");
  });

  it("100 concurrent copies of one delivery make one deployment", async () => {
    const { project, sha } = await makeProject("copies", sampleApp("1"));
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => push(project, noCommit, sha, "the-one-delivery")),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
    const { data } = await client.call(deployments.listDeployments, { query: { projectId: project.id } });
    expect(data).toHaveLength(1);
    expect((await followDeployment(client, data[0]?.id ?? "")).status).toBe("ready");
  });

  it("a second live platform on the same data folder is refused and names the first", async () => {
    const { dataFolder, pid } = platform;
    await expect(startPlatform({ dataFolder })).rejects.toThrow(new RegExp(`\\b${pid}\\b`));
  });
});

/** Containers, images and units of a project on the server, as the server itself tells. */
async function leftOn(machine: LabServer, projectId: string): Promise<string[]> {
  const label = `label=slipway.project=${projectId}`;
  const containers = await machine.read([
    "docker",
    "ps",
    "-a",
    "--filter",
    label,
    "--format",
    "{{.Names}} {{.State}}",
  ]);
  const images = await machine.read([
    "docker",
    "image",
    "ls",
    "--filter",
    label,
    "--format",
    "{{.Repository}}:{{.Tag}}",
  ]);
  const units = await machine.read(["systemctl", "list-units", "--no-legend", "--plain", "slipway-dep*"]);
  return [containers, images, units];
}
