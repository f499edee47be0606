/**
 * `npm run demo:cloud`: the shape of the cloud on one machine. The edge runs in workerd and asks its database over
 * Neon's protocol; a signed push goes from there over SQS to one of two processes of the deploy module, and live.
 */
import * as deployments from "../../shared/contract/deployments.ts";
import { stopEngineOfThisRun } from "../lab/engine.ts";
import { labAvailability, openLab } from "../lab/lab.ts";
import { startCloudShape } from "./cloud-shape.ts";
import { addServer, createClient, followDeployment, linkProject } from "./main-job.ts";
import { sampleApp } from "./sample-app.ts";
import { sendSignedPush } from "./signed-push.ts";
import { visit } from "./visitors.ts";

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

async function main(): Promise<void> {
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
    await play(undo);
    step("Cleaning up");
  } finally {
    await tidy();
  }
}

async function play(undo: (() => Promise<unknown>)[]): Promise<void> {
  step("A managed server and a git host, in containers on this machine");
  const lab = await openLab({ say: detail });
  undo.push(stopEngineOfThisRun, () => lab.close());
  const [machine, git] = [await lab.server({ name: "cloud" }), await lab.git()];

  step("The cloud: worker, Neon, SQS, and a process for each module");
  const cloud = await startCloudShape(detail);
  undo.push(cloud.close);
  const client = createClient({ baseUrl: cloud.url, token: cloud.token });
  for (const path of ["/api/mail/servers", "/api/migration/stack"]) {
    detail(`${path}: ${(await fetch(cloud.url + path)).status}, it is not part of the cloud`);
  }

  step("Adding the server, through the worker");
  const serverId = await addServer(client, machine, detail);
  await git.createRepository(owner, repo);
  const sha = await git.commit(owner, repo, { files: sampleApp("1"), message: "First version" });
  const project = await linkProject(client, { serverId, git, owner, repo });
  detail(`webhook: ${project.webhookUrl}`);

  step("A signed push");
  const pushedMs = performance.now();
  const push = { branch: "main", before: noCommit, after: sha, message: "First version" };
  const sent = await sendSignedPush({ ...project, ...push });
  if (sent.status !== 200) throw new Error(`The push was refused: ${JSON.stringify(sent.body)}`);
  detail(`accepted in ${Math.round(performance.now() - pushedMs)} ms, by the worker`);
  const { data } = await client.call(deployments.listDeployments, { query: { projectId: project.id } });
  const ended = await followDeployment(client, data[0]?.id ?? "", detail);
  if (ended.status !== "ready") throw new Error(`It ended ${ended.status}: ${ended.error?.message}`);
  const [url = ""] = ended.urls;
  const { body } = await visit(url);
  detail(`ready ${((performance.now() - pushedMs) / 1000).toFixed(2)} s after the push`);
  console.log(`\n          ${url} answers: ${body}\n`);
}

await main().catch((error: unknown) => {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
