/**
 * After a switch and its drain: takes away the containers that serve no more, the images outside the rollback window
 * and the files of finished deployments. What a rollback may still want is decided and written first, under the rows'
 * locks, so that an image is either there for it or not offered. A server that is away is tried again, later and later.
 */
import { and, desc, eq, inArray, isNotNull, notInArray } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { serverTarget } from "../../shared/db/server-target.ts";
import type { OperationContext } from "../../shared/operations/definition.ts";
import { operationsFolder } from "../../shared/shell/remote-paths.ts";
import { DeployFailure } from "./failure.ts";
import { orderCleanUp, projectOfCleanUp } from "./order-clean-up.ts";
import {
  listScript,
  planRemoval,
  readThings,
  removeArguments,
  removeScript,
  type Standing,
  type Thing,
} from "./pipeline/clean-up.ts";
import { createHand, type Hand, serverUnreachableCode } from "./pipeline/hand.ts";
import { namesOf } from "./pipeline/names.ts";
import type { CleanUpEvent, CleanUpState } from "./states.ts";
import { serverOf } from "./store.ts";
import type { StoryParts } from "./story-parts.ts";

/** Of those of a story. */
export type CleanUpParts = Pick<StoryParts, "db" | "shell" | "sealer" | "clock" | "log">;

type CleanUpContext = OperationContext<CleanUpState, CleanUpEvent>;

export async function cleanUp(parts: CleanUpParts, context: CleanUpContext): Promise<void> {
  if (context.state === "queued") await context.transition("start");
  const projectId = projectOfCleanUp(context.subjectId);
  for (const serverId of await serversOf(parts.db, projectId)) {
    await cleanServer(parts, context, projectId, serverId);
  }
  await context.transition("finish");
}

/** A project may have been on other servers before. */
async function serversOf(db: Queryable, projectId: string): Promise<string[]> {
  const rows = await db
    .selectDistinct({ serverId: deployments.serverId })
    .from(deployments)
    .where(and(eq(deployments.projectId, projectId), isNotNull(deployments.imageId)));
  return rows.map(({ serverId }) => serverId);
}

async function cleanServer(
  parts: CleanUpParts,
  context: CleanUpContext,
  projectId: string,
  serverId: string,
): Promise<void> {
  const server = await serverOf(parts.db, serverId);
  if (server === undefined || server.deletedAt !== null) return;
  const hand = createHand({
    shell: parts.shell,
    target: serverTarget(server, parts.sealer),
    clock: parts.clock,
    fence: { resource: `${projectId}-clean-up`, token: context.leaseToken },
    operationId: context.id,
    signal: context.signal,
  });
  try {
    await hand.claim();
    await sweep(context, hand, { projectId, serverId });
  } catch (error) {
    if (error instanceof DeployFailure && error.code === serverUnreachableCode)
      await tryLater(parts, context, projectId);
    throw error;
  }
}

async function sweep(
  context: CleanUpContext,
  hand: Hand,
  where: { projectId: string; serverId: string },
): Promise<void> {
  const { repository, imageRepository } = namesOf({ id: "", ...where });
  const listed = await hand.look({
    script: listScript,
    args: [where.projectId, imageRepository, operationsFolder],
    deadlineMs: 60_000,
  });
  let going: Thing[] = [];
  await context.write(async (tx) => {
    const standing = await giveUpImages(tx, where);
    going = planRemoval(readThings(listed.stdout), standing);
  });
  const removed = await hand.step({
    script: removeScript,
    args: [imageRepository, operationsFolder, repository, ...removeArguments(going)],
    deadlineMs: 120_000,
  });
  await freePorts(context, where, remaining(listed.stdout, removed.stdout));
}

/** Deployments whose containers are still on the server. */
function remaining(listed: string, removed: string): string[] {
  const containers = (text: string) =>
    readThings(text).flatMap(({ kind, name }) => (kind === "container" ? [name] : []));
  const gone = new Set(containers(removed));
  return containers(listed).filter((id) => !gone.has(id));
}

/** A port is free when its deployment is over, serves nothing and has no container. */
async function freePorts(
  context: CleanUpContext,
  where: { projectId: string; serverId: string },
  held: readonly string[],
): Promise<void> {
  await context.write(async (tx) => {
    const over = tx.select({ id: operations.id }).from(operations).where(eq(operations.final, true));
    const active = tx
      .select({ id: projects.activeDeploymentId })
      .from(projects)
      .where(and(eq(projects.id, where.projectId), isNotNull(projects.activeDeploymentId)));
    await tx
      .update(deployments)
      .set({ hostPort: null })
      .where(
        and(
          eq(deployments.projectId, where.projectId),
          eq(deployments.serverId, where.serverId),
          isNotNull(deployments.hostPort),
          inArray(deployments.id, over),
          notInArray(deployments.id, active),
          notInArray(deployments.id, [...held, ""]),
        ),
      );
  });
}

/** Marks what leaves the rollback window, and answers what stays. */
async function giveUpImages(
  tx: Queryable,
  where: { projectId: string; serverId: string },
): Promise<Standing> {
  const [project] = await tx
    .select({
      active: projects.activeDeploymentId,
      window: projects.rollbackWindow,
      deletedAt: projects.deletedAt,
    })
    .from(projects)
    .where(eq(projects.id, where.projectId));
  const rows = await tx
    .select({
      id: deployments.id,
      serverId: deployments.serverId,
      state: operations.state,
      final: operations.final,
      pinned: deployments.pinned,
      rollbackOf: deployments.rollbackOf,
    })
    .from(deployments)
    .innerJoin(operations, eq(operations.id, deployments.id))
    .where(eq(deployments.projectId, where.projectId))
    .orderBy(desc(deployments.id))
    .for("update", { of: deployments });
  const active = project?.active ?? null;
  const open = rows.filter((row) => !row.final);
  const ready = rows.filter((row) => row.state === "ready");
  const window = ready.filter((row) => row.id !== active).slice(0, project?.window ?? 0);
  const wanted = open.flatMap((row) => [row.id, ...(row.rollbackOf === null ? [] : [row.rollbackOf])]);
  const images = new Set([
    ...wanted,
    ...window.map(({ id }) => id),
    ...rows.filter((row) => row.pinned).map(({ id }) => id),
  ]);
  if (active !== null) images.add(active);
  await tx
    .update(deployments)
    .set({ artifact: "none" })
    .where(
      and(
        eq(deployments.projectId, where.projectId),
        eq(deployments.serverId, where.serverId),
        eq(deployments.artifact, "kept"),
        notInArray(deployments.id, [...images, ""]),
      ),
    );
  const ids = (of: { id: string }[]) => of.map(({ id }) => id);
  return {
    known: ids(rows),
    running: [...(active === null ? [] : [active]), ...ids(open)],
    images: [...images],
    open: ids(open),
  };
}

const laterMs = 5 * 60_000;
/** Doubled each time: about four days in all. */
const attemptsMost = 10;

async function tryLater(parts: CleanUpParts, context: CleanUpContext, projectId: string): Promise<void> {
  const attempt = Number(context.progress["attempt"] ?? 0) + 1;
  if (attempt > attemptsMost) return;
  const runAfter = new Date(parts.clock.nowMs() + laterMs * 2 ** (attempt - 1));
  const { organizationId } = context;
  await context.write((tx) => orderCleanUp(tx, { organizationId, projectId }, runAfter, { attempt }));
}
