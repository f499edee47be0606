/**
 * A deployment from start to end, as it reads: take the snapshot, fetch, build, release, ask, switch. Every owner tells
 * it from the beginning of the state it finds; each step finds what an earlier owner has done by name and goes on.
 */
import { eq } from "drizzle-orm";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { DeployFailure } from "./failure.ts";
import { choosePlace } from "./pipeline/choose-place.ts";
import { engineFunction } from "./pipeline/engine-api.ts";
import { orFullDisk } from "./pipeline/full-disk.ts";
import { serverUnreachableCode } from "./pipeline/hand.ts";
import { turnPhase } from "./pipeline/phases.ts";
import { produceImage } from "./pipeline/produce-image.ts";
import { addressesOf, putLive } from "./pipeline/put-live.ts";
import { startContainer } from "./pipeline/start-container.ts";
import { toldOf } from "./pool-rules.ts";
import { takeSnapshot } from "./snapshot.ts";
import { noteUnderWay } from "./statuses/note.ts";
import { deploymentRow } from "./store.ts";
import { type DeploymentContext, openStory, type Story, type StoryParts } from "./story-parts.ts";

export async function tell(parts: StoryParts, context: DeploymentContext): Promise<void> {
  try {
    if (context.state === "queued") await begin(parts, context);
    const story = await openStory(parts, context);
    await work(story).catch(async (error: unknown) => {
      throw toldOf(story.rules, await orFullDisk(story.hand, error, context.signal));
    });
  } catch (error) {
    // Tells `undo` that asking this server again and again would only keep the project waiting.
    if (error instanceof DeployFailure && error.code === serverUnreachableCode) {
      await context.append([], { serverLost: true });
    }
    throw error;
  }
}

async function work(story: Story): Promise<void> {
  const { context } = story;
  // A look needs no claim, so both are asked at once.
  const [kept] = await Promise.all([keptImageServes(story), story.hand.claim()]);
  if (context.state === "building") await produce(story, kept);
  if (context.state === "deploying") {
    const addresses = await addressesOf(story);
    await startContainer(story, addresses.hostname);
    await putLive(story, addresses);
  }
}

/** A rollback brings its snapshot along. */
async function begin(parts: StoryParts, context: DeploymentContext): Promise<void> {
  const row = await deploymentRow(parts.db, context.id);
  const snapshot = row.config === null ? await takeSnapshot(parts.db, parts.sealer, row) : null;
  const queueMs = Math.max(0, parts.clock.nowMs() - row.createdAt.getTime());
  await context.transition(
    "start",
    async (tx) => {
      if (snapshot !== null) {
        const { config, sealedEnv } = snapshot;
        await tx
          .update(deployments)
          .set({ config: { ...config }, sealedEnv })
          .where(eq(deployments.id, context.id));
      }
      await noteUnderWay(tx, context.id);
    },
    {
      events: [{ type: "phase", data: { phase: "queue", state: "done", ms: queueMs } }],
      progress: { phases: { queue: queueMs } },
    },
  );
}

async function produce(story: Story, keptImageServes: boolean): Promise<void> {
  const { context, parts } = story;
  const produced = keptImageServes ? null : await produceImage(story);
  const { events, progress } = turnPhase(context.progress, { ended: "build" }, parts.clock.nowMs());
  await context.transition(
    "release",
    (tx) => choosePlace(tx, story, produced),
    produced === null ? {} : { events, progress },
  );
}

/** A rollback whose image is gone after all builds that commit again. */
async function keptImageServes({ context, deployment, hand }: Story): Promise<boolean> {
  if (context.state !== "building" || deployment.mode !== "image" || deployment.imageId === null)
    return false;
  const script = `${engineFunction} engine --fail --output /dev/null "http://engine/images/$1/json"`;
  const found = await hand.look({ script, args: [deployment.imageId], deadlineMs: 30_000 });
  if (found.code === 0) return true;
  await context.write(async (tx) => {
    await tx
      .update(deployments)
      .set({ mode: "rebuild", imageId: null })
      .where(eq(deployments.id, context.id));
  });
  return false;
}
