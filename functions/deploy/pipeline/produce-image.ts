/** From a commit to an image on the server: fetch, look, plan, build. */

import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { DeployFailure } from "../failure.ts";
import { cloneUrlOf } from "../git-access.ts";
import { pinned, requireOurPlan } from "../pool-rules.ts";
import { noteUnderWay } from "../statuses/note.ts";
import { lastLines } from "../store.ts";
import type { Story } from "../story-parts.ts";
import { buildArguments, buildInput, buildScript, explainBuild, readBuiltImage } from "./build.ts";
import { detect } from "./detect.ts";
import { explainFetch } from "./explain-fetch.ts";
import { fetchArguments, fetchScript } from "./fetch.ts";
import { followToLog } from "./follow-to-log.ts";
import { credentialInput } from "./git-with-credential.ts";
import { inspectScript, readInspection, rootNotFound, type SourceReport } from "./inspect.ts";
import { turnPhase } from "./phases.ts";
import { type BuildPlan, planBuild } from "./plan.ts";
import { receiveUpload } from "./receive-upload.ts";
import { containerPortOf } from "./release.ts";
import { volumesOf } from "./volumes.ts";

export interface Produced {
  imageId: string;
  containerPort: number;
  init: boolean;
}

export async function produceImage(story: Story): Promise<Produced> {
  await fetchSource(story);
  const report = await lookAtSource(story);
  await noteCommit(story, report);
  const plan = await makePlan(story, report);
  return build(story, report, plan);
}

async function fetchSource(story: Story): Promise<void> {
  const { context, parts, deployment, config, names, hand, gitAccess: access } = story;
  const { branch, commitSha } = deployment;
  if (config.source.kind === "upload") return receiveUpload(story);
  if (config.source.kind !== "git") {
    throw new DeployFailure(
      "no_git_source",
      "The project has no git source.",
      "Give it one, or deploy a folder.",
    );
  }
  const { url, pin } = await pinned(story.rules, cloneUrlOf(config.source, access));
  const what = commitSha === null ? `the head of ${branch ?? "the default branch"}` : `commit ${commitSha}`;
  const turn = turnPhase(
    context.progress,
    { begun: "fetch", say: `Fetching ${what} from ${url}` },
    parts.clock.nowMs(),
  );
  // Noted before anything is started: `undo` looks on the server for what was noted.
  if (turn.events.length > 0) await context.append(turn.events, turn.progress);
  const stdin = credentialInput(access);
  await hand.start({
    step: "fetch",
    script: fetchScript,
    args: fetchArguments({ ...names, url, branch, commitSha, access, pin }),
    ...(stdin === undefined ? {} : { stdin }),
    timeoutMs: limits.fetchMs,
  });
  const exit = await followToLog(story, "fetch", "fetch");
  if (exit !== 0) throw explainFetch(exit, await lastLines(parts.db, context.id, "fetch"));
}

async function lookAtSource({ hand, names, config }: Story): Promise<SourceReport> {
  const seen = await hand.look({
    script: inspectScript,
    args: [names.directory, config.rootDirectory ?? "", config.build.outputDirectory ?? ""],
    deadlineMs: 30_000,
  });
  if (seen.code !== 0) throw new Error(`the source could not be inspected: ${seen.stderr.slice(0, 500)}`);
  return readInspection(seen.stdout);
}

/** Before the plan, so that a source that cannot be built still says which one it was. */
async function noteCommit(
  { context, deployment }: Story,
  { commitSha, commitMessage }: SourceReport,
): Promise<void> {
  // What was uploaded is no commit of anybody.
  if (deployment.uploadDigest !== null) return;
  if (deployment.commitSha === commitSha && deployment.commitMessage !== null) return;
  await context.write(async (tx) => {
    await tx.update(deployments).set({ commitSha, commitMessage }).where(eq(deployments.id, context.id));
    await noteUnderWay(tx, context.id);
  });
}

async function makePlan(
  { parts, config, deployment, environment, rules }: Story,
  report: SourceReport,
): Promise<BuildPlan> {
  if (!report.rootFound) throw rootNotFound();
  const { buildStrategy: strategy, build: settings } = config;
  const needed = report.inspection.packageJson !== null && strategy !== "static" && strategy !== "dockerfile";
  const frameworks = needed ? await parts.frameworks.all() : [];
  const detected = detect(report.inspection, { strategy, build: settings, frameworks });
  const values = JSON.stringify(environment);
  const digest = createHash("sha256").update(values).digest("hex").slice(0, 32);
  const plan = planBuild(detected, {
    build: settings,
    mounts: report.buildkit && rules === null,
    environment: values === "{}" ? null : digest,
    volumePaths: volumesOf(deployment.projectId, config.volumes ?? []).map(({ target }) => target),
    cacheOf: rules === null ? null : deployment.projectId,
  });
  requireOurPlan(rules, plan);
  return plan;
}

async function build(story: Story, report: SourceReport, plan: BuildPlan): Promise<Produced> {
  const { context, parts, config, names, ids, hand, environment } = story;
  const { commitSha } = report;
  const buildkit = report.buildkit && story.rules === null;
  const say = `Building ${commitSha.slice(0, 12)}: ${plan.title}`;
  const turn = turnPhase(context.progress, { ended: "fetch", begun: "build", say }, parts.clock.nowMs());
  if (turn.events.length > 0) await context.append(turn.events, turn.progress);
  await hand.start({
    step: "build",
    script: buildScript,
    args: buildArguments({
      names,
      plan,
      rootDirectory: config.rootDirectory,
      buildkit,
      ids,
      share: story.rules,
    }),
    stdin: buildInput(story.registryAccess, environment),
    timeoutMs: limits.buildMs,
  });
  const exit = await followToLog(story, "build", "build");
  if (exit !== 0) throw explainBuild(exit, await lastLines(parts.db, context.id, "build"));
  const left = await hand.look({ script: `cat -- "$1/image"`, args: [names.directory], deadlineMs: 30_000 });
  if (left.code !== 0) throw new DeployFailure("build_failed", "The build left no image.");
  const { imageId, exposed } = readBuiltImage(left.stdout);
  const containerPort = plan.port ?? containerPortOf(config.build.port, environment, exposed);
  return { imageId, containerPort, init: plan.init };
}
