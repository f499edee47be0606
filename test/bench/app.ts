/** The app of the bench, live on the product's server and on the floor's, and the timed ways to a new version of it. */
import * as deployments from "../../shared/contract/deployments.ts";
import { followDeployment, type LinkedProject, latestDeployment, linkProject } from "../demo/main-job.ts";
import { sampleApp } from "../demo/sample-app.ts";
import { sendSignedPush } from "../demo/signed-push.ts";
import { visit } from "../demo/visitors.ts";
import { type FloorDeploy, openFloorDeploy } from "./floor-deploy.ts";
import type { Stage } from "./stage.ts";

export interface BenchApp {
  project: LinkedProject;
  /** Where the product serves it, and the floor. */
  url: string;
  floorUrl: string;
  floor: FloorDeploy;
  /** The last two versions, both live once: the second one serves. */
  before: Version;
  serving: Version;
}

export interface Version {
  text: string;
  sha: string;
  deploymentId: string;
}

export interface Timed {
  ms: number;
  phases: Readonly<Partial<Record<string, number>>>;
}

const owner = "bench";
const repo = "app";
const host = "app.localhost";
const noCommit = "0".repeat(40);
const apps = new WeakMap<Stage, Promise<BenchApp>>();

/** Made by the first row that asks: two versions, so that caches are warm on both sides. */
export function benchApp(stage: Stage): Promise<BenchApp> {
  const app = apps.get(stage) ?? make(stage);
  apps.set(stage, app);
  return app;
}

async function make(stage: Stage): Promise<BenchApp> {
  const { git, serverId, ours, floor, ssh } = await stage.servers();
  const { client } = await stage.platform();
  await git.createRepository(owner, repo);
  const project = await linkProject(client, { serverId, git, owner, repo });
  const none = { text: "", sha: noCommit, deploymentId: "" };
  const app: BenchApp = {
    project,
    url: `http://${host}:${ours.httpPort}/`,
    floorUrl: `http://${host}:${floor.httpPort}/`,
    floor: await openFloorDeploy(ssh, host, git.url(owner, repo)),
    before: none,
    serving: none,
  };
  for (let version = 1; version <= 2; version++) {
    const commit = await commitVersion(stage);
    await pushVersion(stage, app, commit);
    await deployFloor(app, commit);
  }
  return app;
}

let versions = 0;

export interface Commit {
  sha: string;
  text: string;
}

/** A new version at the git host, not deployed anywhere yet. */
export async function commitVersion(stage: Stage): Promise<Commit> {
  versions++;
  const { git } = await stage.servers();
  const sha = await git.commit(owner, repo, { files: sampleApp(String(versions)) });
  return { sha, text: `version ${versions}` };
}

/** From the signed push to the first answer of the new version through the proxy. */
export async function pushVersion(stage: Stage, app: BenchApp, { sha, text }: Commit): Promise<Timed> {
  const { client } = await stage.platform();
  const { project, serving } = app;
  const { webhookUrl, secret } = project;
  const startedMs = performance.now();
  const push = { webhookUrl, secret, owner, repo, branch: "main", message: text };
  const sent = await sendSignedPush({ ...push, before: serving.sha, after: sha });
  if (sent.status !== 200) throw new Error(`The push was refused: ${sent.status}`);
  const failed = async () => {
    const found = await latestDeployment(client, project.id);
    if (found?.commitSha === sha && found.error !== null) return found.error.message;
    return undefined;
  };
  await untilItAnswers(app.url, text, failed);
  const ms = performance.now() - startedMs;
  const deployment = await latestDeployment(client, project.id);
  if (deployment === undefined) throw new Error("The push made no deployment.");
  const { phases } = await untilReady(stage, deployment.id);
  app.before = serving;
  app.serving = { text, sha, deploymentId: deployment.id };
  return { ms, phases };
}

export async function deployFloor(app: BenchApp, { sha, text }: Commit): Promise<Timed> {
  const startedMs = performance.now();
  const deployed = app.floor.deploy(sha);
  await Promise.all([deployed, untilItAnswers(app.floorUrl, text)]);
  const ms = performance.now() - startedMs;
  await app.floor.tidy();
  return { ms, phases: await deployed };
}

/** From the request to the first answer of the version before through the proxy. */
export async function rollBack(stage: Stage, app: BenchApp): Promise<Timed> {
  const { client } = await stage.platform();
  const { before, serving } = app;
  const startedMs = performance.now();
  const { data } = await client.call(deployments.rollbackDeployment, { params: { id: before.deploymentId } });
  await untilItAnswers(app.url, before.text);
  const ms = performance.now() - startedMs;
  const { phases } = await untilReady(stage, data.id);
  app.before = serving;
  app.serving = { ...before, deploymentId: data.id };
  return { ms, phases };
}

export async function rollBackFloor(app: BenchApp, { sha, text }: Commit): Promise<Timed> {
  const startedMs = performance.now();
  const released = app.floor.release(sha);
  await Promise.all([released, untilItAnswers(app.floorUrl, text)]);
  const ms = performance.now() - startedMs;
  await app.floor.tidy();
  return { ms, phases: await released };
}

async function untilReady(stage: Stage, id: string) {
  const { client } = await stage.platform();
  const ended = await followDeployment(client, id);
  if (ended.status !== "ready")
    throw new Error(`A deployment ended ${ended.status}: ${ended.error?.message}`);
  return ended;
}

const answerMs = 120_000;
const askEveryMs = 10;
const lookForFailureEveryMs = 5_000;

async function untilItAnswers(
  url: string,
  text: string,
  failed: () => Promise<string | undefined> = async () => undefined,
): Promise<void> {
  const endMs = performance.now() + answerMs;
  let lookedMs = performance.now();
  while (performance.now() < endMs) {
    // A connection that breaks while the proxy loads is not the answer that is waited for.
    const answer = await visit(url).catch(() => undefined);
    if (answer?.status === 200 && answer.body.endsWith(text)) return;
    if (performance.now() - lookedMs > lookForFailureEveryMs) {
      lookedMs = performance.now();
      const reason = await failed();
      if (reason !== undefined) throw new Error(`The deployment failed: ${reason}`);
    }
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
  throw new Error(`${url} did not answer "${text}" within ${answerMs / 1000} s.`);
}

/** `fetch 120/80 ms, …`: the medians of ours and of the floor. */
export function comparePhases(
  ours: readonly Timed[],
  floor: readonly Timed[],
  medianOf: (values: readonly number[]) => number,
): string {
  const of = (timed: readonly Timed[], phase: string) => {
    const values = timed.flatMap(({ phases }) => phases[phase] ?? []);
    return values.length === 0 ? "–" : String(Math.round(medianOf(values)));
  };
  const names = [...new Set([...ours, ...floor].flatMap(({ phases }) => Object.keys(phases)))];
  return names.map((name) => `${name} ${of(ours, name)}/${of(floor, name)}`).join(", ");
}
