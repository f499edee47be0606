/** From an image to a container that is well: start it beside the old one, and ask until it answers. */
import { eq } from "drizzle-orm";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { cappedBy } from "../pool-rules.ts";
import { type DeploymentRow, deploymentRow } from "../store.ts";
import type { Story } from "../story-parts.ts";
import { takeHostPort } from "./host-port.ts";
import { containerOf } from "./names.ts";
import { systemLine, turnPhase } from "./phases.ts";
import { type BadAnswer, explainProbe, probeArguments, probeScript, readProbe } from "./probe.ts";
import {
  explainRelease,
  portTakenExit,
  readPortsInUse,
  readStarted,
  releaseArguments,
  releaseScript,
  type StartedContainer,
} from "./release.ts";
import { volumesOf, writesVolume } from "./volumes.ts";

/** `hostname`: the first address of the project, for the `Host` of the check. */
export async function startContainer(story: Story, hostname: string): Promise<void> {
  const { context, parts } = story;
  const row = await deploymentRow(parts.db, context.id);
  await turn(story, { begun: "release", say: "Starting the new container" });
  let started = await release(story, row);
  await turn(story, { ended: "release", begun: "health" });
  // The engine brings the container back, or we do; where it listens now is asked anew.
  while ((await waitUntilWell(story, started, row.containerPort ?? 0, hostname)) === "restarted") {
    await story.context.append([
      systemLine("health", "The server has restarted; asking the container again"),
    ]);
    started = await release(story, await deploymentRow(parts.db, context.id));
  }
  await turn(story, { ended: "health", begun: "switch" });
}

async function turn({ context, parts }: Story, change: Parameters<typeof turnPhase>[1]): Promise<void> {
  const { events, progress } = turnPhase(context.progress, change, parts.clock.nowMs());
  if (events.length > 0) await context.append(events, progress);
}

/** Ports tried beside the first, where something listens that the database does not know of. */
const portAttempts = 3;

async function release(story: Story, row: DeploymentRow): Promise<StartedContainer> {
  const { imageId, containerPort } = row;
  let { hostPort } = row;
  if (imageId === null || containerPort === null)
    throw new Error("a deployment is released without image or port");
  const stopFirst = await containerToStop(story);
  for (let attempt = 1; ; attempt++) {
    if (hostPort === null) throw new Error("a deployment is released without a port");
    const { argv, stdin } = releaseArguments({
      names: story.names,
      ids: story.ids,
      imageId,
      tagImage: row.mode === "image",
      hostPort,
      containerPort,
      init: story.config.init === true,
      resources: cappedBy(story.rules, story.config.resources),
      volumes: volumesOf(story.deployment.projectId, story.config.volumes ?? []),
      environment: story.environment,
      stopFirst,
    });
    const result = await story.hand.step({ script: releaseScript, args: argv, stdin, deadlineMs: 120_000 });
    if (result.code === 0) return readStarted(result.stdout);
    if (result.code !== portTakenExit || attempt > portAttempts) {
      throw explainRelease(result.code, result.stderr, story.redactor.redact);
    }
    const inUse = [hostPort, ...readPortsInUse(result.stdout)];
    await story.context.write(async (tx) => {
      hostPort = await takeHostPort(tx, row, inUse);
    });
  }
}

/** The old container where two must not run at once; noted first, so that `undo` starts it again. */
async function containerToStop(story: Story): Promise<string | null> {
  const { context, parts, deployment } = story;
  const why = whyRecreate(story);
  if (why === null) return null;
  const noted = context.progress["stopped"];
  if (typeof noted === "string") return noted;
  const [project] = await parts.db
    .select({ active: projects.activeDeploymentId })
    .from(projects)
    .where(eq(projects.id, deployment.projectId));
  if (project === undefined || project.active === null || project.active === context.id) return null;
  const stopped = containerOf(project.active);
  const line = `Stopping the container before: ${why}`;
  await context.append([systemLine("release", line)], { stopped });
  return stopped;
}

/** Why old and new must not run at once, or null (decisions.md section 4). */
function whyRecreate({ config, deployment }: Story): string | null {
  if (config.updateStrategy === "recreate") return "the project's update strategy is recreate";
  if (config.updateStrategy === "rolling") return null;
  const volumes = volumesOf(deployment.projectId, config.volumes ?? []);
  return writesVolume(volumes)
    ? "both would write into the project's volumes (updateStrategy: rolling allows it)"
    : null;
}

/** One script asks for this long at most; then it is called again. */
const askSeconds = 8;

async function waitUntilWell(
  story: Story,
  started: StartedContainer,
  containerPort: number,
  hostname: string,
): Promise<"healthy" | "restarted"> {
  const { healthCheck } = story.config;
  const timeoutSeconds = healthCheck.timeoutSeconds ?? limits.healthTimeoutSeconds;
  const untilMs = story.parts.clock.nowMs() + timeoutSeconds * 1_000;
  for (;;) {
    const leftSeconds = Math.ceil((untilMs - story.parts.clock.nowMs()) / 1_000);
    const seconds = Math.max(0, Math.min(askSeconds, leftSeconds));
    const request = {
      container: story.names.container,
      started,
      healthCheck,
      containerPort,
      hostname,
      seconds,
    };
    const result = await story.hand.look({
      script: probeScript,
      args: probeArguments(request),
      deadlineMs: 45_000,
      bash: true,
    });
    const answer = readProbe(result.stdout);
    if (answer.verdict === "healthy" || answer.verdict === "restarted") return answer.verdict;
    if (answer.verdict === "exited" || leftSeconds <= askSeconds) {
      throw explainProbe(await noteLines(story, answer), healthCheck, containerPort, timeoutSeconds);
    }
  }
}

/** What the container said last goes into the log, without secrets. */
async function noteLines<A extends BadAnswer>(story: Story, answer: A): Promise<A> {
  const lines = answer.lines.slice(-40).map((line) => story.redactor.redact(line).slice(0, 2_000));
  await story.context.append(
    lines.map((line) => ({ type: "log", data: { stream: "stdout", phase: "health", line } })),
  );
  return { ...answer, lines };
}
