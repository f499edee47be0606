/**
 * `npm run demo`: the main job, end to end, on real parts: a managed server and a git host in the lab, the platform in
 * its own process. Everything goes through the public API and the command line. `-- --keep` leaves it running.
 */
import * as deployments from "../../shared/contract/deployments.ts";
import { stopEngineOfThisRun } from "../lab/engine.ts";
import { type Lab, labAvailability, openLab } from "../lab/lab.ts";
import { keptOwner } from "../lab/labels.ts";
import {
  addServer,
  type Client,
  createClient,
  followDeployment,
  type LinkedProject,
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
import { visit, visitSteadily } from "./visitors.ts";

const owner = "acme";
const repo = "hello";
const noCommit = "0".repeat(40);
const started = performance.now();

function step(text: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
  console.log(`\n${seconds} s  ${text}`);
}

function detail(line: string): void {
  console.log(`          ${line}`);
}

interface Stage {
  lab: Lab;
  platform: PlatformProcess;
  client: Client;
  token: string;
}

async function main(): Promise<void> {
  const keep = process.argv.includes("--keep");
  const available = await labAvailability(detail);
  if (!available.available) throw new Error(`The demo needs a container engine: ${available.reason}.`);
  const undo: (() => Promise<unknown>)[] = [];
  const tidy = async () => {
    for (const one of undo.reverse().splice(0)) await one();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void tidy().finally(() => process.exit(130)));
  }
  try {
    const stage = await setTheStage(undo, keep);
    await playMainJob(stage, keep);
    if (keep) return;
  } catch (error) {
    await tidy();
    throw error;
  }
  step("Cleaning up: platform, servers, repository, database");
  await tidy();
}

async function setTheStage(undo: (() => Promise<unknown>)[], keep: boolean): Promise<Stage> {
  step("A managed server and a git host, in containers on this machine");
  const lab = await openLab({ say: detail, ...(keep ? { owner: keptOwner } : {}) });
  undo.push(stopEngineOfThisRun, () => lab.close());
  step("The platform, on its own Postgres");
  const dataFolder = await makeDataFolder();
  undo.push(() => removeDataFolder(dataFolder));
  const platform = await startPlatform({ dataFolder });
  undo.push(() => platform.stop());
  detail(`ready in ${(platform.readyMs / 1000).toFixed(1)} s at ${platform.url}`);
  const { token } = await runCli<{ token: string }>(
    ["init", "--org", "Acme", "--email", "demo@example.com", "--password-stdin"],
    { dataFolder, stdin: "correct horse battery staple\n" },
  );
  detail("organization, owner and access token made with `slipway init`");
  return { lab, platform, token, client: createClient({ baseUrl: platform.url, token }) };
}

async function playMainJob({ lab, platform, client, token }: Stage, keep: boolean): Promise<void> {
  step("Adding the server: its host key is looked at before anything is trusted");
  const machine = await lab.server({ name: "web" });
  const serverId = await addServer(client, machine, detail);

  step("A repository with a small web app, linked to a project");
  const git = await lab.git();
  await git.createRepository(owner, repo);
  const first = await git.commit(owner, repo, { files: sampleApp("1"), message: "First version" });
  const project = await linkProject(client, { serverId, git, owner, repo });
  detail(`webhook: ${project.webhookUrl}`);

  step("A signed push of the first version");
  const one = await pushAndFollow(client, project, {
    before: noCommit,
    after: first,
    message: "First version",
  });
  const url = one.url;
  detail(`${url} answers: ${await answerOf(url)}`);

  step("A second push, while eight visitors keep asking");
  const ending = new AbortController();
  const visits = visitSteadily(url, { visitors: 8, pauseMs: 2, signal: ending.signal });
  const second = await git.commit(owner, repo, { files: sampleApp("2"), message: "Second version" });
  const two = await pushAndFollow(client, project, {
    before: first,
    after: second,
    message: "Second version",
  });
  await untilDrained();
  ending.abort();
  const counted = await visits;
  detail(`${url} answers: ${await answerOf(url)}`);
  for (const [body, times] of counted.answers) detail(`${times} answers: ${body}`);
  detail(`${counted.requests} requests, ${counted.lost} lost`);
  if (counted.lost > 0) throw new Error(`Requests were lost: ${counted.losses.join("; ")}`);

  step("Back to the first version, from its kept image: no git host, no build");
  await git.stop();
  const rollbackStarted = performance.now();
  const { data: rollback } = await client.call(deployments.rollbackDeployment, {
    params: { id: one.deploymentId },
  });
  const back = await followDeployment(client, rollback.id, detail);
  if (back.status !== "ready") throw new Error(`The rollback ended ${back.status}: ${back.error?.message}`);
  const rollbackMs = performance.now() - rollbackStarted;
  const answer = await answerOf(url);
  detail(`${url} answers: ${answer}`);
  if (!answer.includes("version 1")) throw new Error("The rollback did not bring the first version back.");
  await git.start();

  step("Timings");
  detail(`first push to live     ${(one.ms / 1000).toFixed(2)} s`);
  detail(`second push to live    ${(two.ms / 1000).toFixed(2)} s   (${phasesOf(two.phases)})`);
  detail(`rollback to live       ${(rollbackMs / 1000).toFixed(2)} s`);
  detail(`requests while swapping ${counted.requests}, lost ${counted.lost}`);
  console.log(`\n          ${url}\n`);
  if (keep) sayWhereToLook(platform, token, machine.name, url);
}

async function pushAndFollow(
  client: Client,
  project: LinkedProject,
  push: { before: string; after: string; message: string },
): Promise<{ deploymentId: string; url: string; ms: number; phases: Partial<Record<string, number>> }> {
  const pushed = performance.now();
  const { webhookUrl, secret } = project;
  const sent = await sendSignedPush({ webhookUrl, secret, owner, repo, branch: "main", ...push });
  if (sent.status !== 200)
    throw new Error(`The push was refused: ${sent.status} ${JSON.stringify(sent.body)}`);
  detail(`accepted in ${Math.round(performance.now() - pushed)} ms`);
  const { data } = await client.call(deployments.listDeployments, {
    query: { projectId: project.id, limit: 1 },
  });
  const [deployment] = data;
  if (deployment === undefined) throw new Error("The push made no deployment.");
  const ended = await followDeployment(client, deployment.id, detail);
  const ms = performance.now() - pushed;
  if (ended.status !== "ready")
    throw new Error(`The deployment ended ${ended.status}: ${ended.error?.message}`);
  const [url] = ended.urls;
  if (url === undefined) throw new Error("A ready deployment has no address.");
  detail(`ready ${(ms / 1000).toFixed(2)} s after the push`);
  return { deploymentId: deployment.id, url, ms, phases: ended.phases };
}

async function answerOf(url: string): Promise<string> {
  const { status, body } = await visit(url);
  return status === 200 ? body : `status ${status}: ${body}`;
}

/** Visitors stay until the old release has been stopped: requests must not be lost then either. */
function untilDrained(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 13_000));
}

function phasesOf(phases: Partial<Record<string, number>>): string {
  return Object.entries(phases)
    .map(([phase, ms]) => `${phase} ${((ms ?? 0) / 1000).toFixed(2)}`)
    .join(", ");
}

function sayWhereToLook(platform: PlatformProcess, token: string, server: string, url: string): void {
  console.log(`  It goes on running. To look around:

    curl ${url}
    export SLIPWAY_URL=${platform.url} SLIPWAY_TOKEN=${token}
    npm run -s slipway -- status
    npm run -s slipway -- deployments list
    docker exec -it ${server} bash          the managed server

  To end it:

    kill ${platform.pid} && npm run -s lab -- down --engine && rm -r ${platform.dataFolder}
`);
  process.exit(0);
}

await main().catch((error: unknown) => {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
