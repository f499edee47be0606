/**
 * Ends what a failed or cancelled deployment has on its server, and proves it gone, before its status is written: units,
 * the builder's processes, the new container, its image, its files. The version before is put back where it had to go.
 * What an unreachable server keeps is left to a later clean-up, so that the project does not wait for it.
 */
import { and, eq } from "drizzle-orm";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { LeaseLost } from "../../shared/operations/definition.ts";
import { DeployFailure } from "./failure.ts";
import { orderCleanUp } from "./order-clean-up.ts";
import { undoScript } from "./pipeline/clean-up.ts";
import { serverUnreachableCode } from "./pipeline/hand.ts";
import { hasBegun } from "./pipeline/phases.ts";
import { moveTraffic } from "./pipeline/put-live.ts";
import { toldOf } from "./pool-rules.ts";
import { deploymentRow } from "./store.ts";
import { type DeploymentContext, openStory, type Story, type StoryParts } from "./story-parts.ts";

/** When the leftovers of an unreachable server are looked for. */
const laterMs = 5 * 60_000;
/** One try asks this long; the mechanism tries again. */
const lostForMs = 10_000;

export async function undo(parts: StoryParts, context: DeploymentContext): Promise<void> {
  const { progress } = context;
  if (!hasBegun(progress, "fetch") && !hasBegun(progress, "release")) return;
  try {
    const story = await openStory(parts, context, {
      lostForMs: progress["serverLost"] === true ? 0 : lostForMs,
    });
    await undoOnServer(story).catch((error: unknown) => {
      throw toldOf(story.rules, error);
    });
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    if (error instanceof DeployFailure && error.code === "server_deleted") return;
    await leaveToCleanUp(parts, context);
    const unreachable = error instanceof DeployFailure && error.code === serverUnreachableCode;
    if (!(unreachable && progress["serverLost"] === true)) throw error;
  }
}

async function undoOnServer(story: Story): Promise<void> {
  const { context, hand, names } = story;
  const { progress } = context;
  await hand.claim();
  await putBack(story);
  if (hasBegun(progress, "fetch")) await hand.stop("fetch");
  if (hasBegun(progress, "build")) await hand.stop("build");
  const startAgain = typeof progress["stopped"] === "string" ? progress["stopped"] : "";
  const done = await hand.step({
    script: undoScript,
    args: [names.container, names.image, names.directory, names.marker, startAgain],
    deadlineMs: 60_000,
  });
  if (done.code !== 0)
    throw new Error(`the deployment's work could not be removed: ${done.stderr.slice(0, 500)}`);
  await context.write(async (tx) => {
    await tx
      .update(deployments)
      .set({ hostPort: null, artifact: "none" })
      .where(eq(deployments.id, context.id));
  });
}

/** The switch was under way: the version before becomes the active one again, for the proxy as well. */
async function putBack(story: Story): Promise<void> {
  const { context, parts, deployment } = story;
  if (!hasBegun(context.progress, "switch")) return;
  const [ours] = await parts.db
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.id, deployment.projectId), eq(projects.activeDeploymentId, context.id)));
  if (ours === undefined) return;
  const before = context.progress["activeBefore"];
  await moveTraffic(story, typeof before === "string" ? before : null, context.write);
}

async function leaveToCleanUp(parts: StoryParts, context: DeploymentContext): Promise<void> {
  const row = await deploymentRow(parts.db, context.id);
  await context.write((tx) => orderCleanUp(tx, row, new Date(parts.clock.nowMs() + laterMs)));
}
