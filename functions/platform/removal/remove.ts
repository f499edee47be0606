/**
 * The story of a removal: fence out every owner there was, take the route off, so that no visitor meets a stopped app,
 * remove what is labelled, take its webhook off the git host, then wipe the rows in the transaction that ends the operation. Each step can be done again,
 * so whoever takes it up begins at the beginning. While the server cannot be reached nothing is forgotten: `putBack`.
 */
import { and, asc, eq, isNull } from "drizzle-orm";
import type { Sealer } from "../../../shared/crypto/seal.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { hidePoolServer } from "../../../shared/db/hide-pool-server.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { serverTarget } from "../../../shared/db/server-target.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { OperationContext } from "../../../shared/operations/definition.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { GitHostApi } from "../../../shared/ports/git-host-api.ts";
import type { Log } from "../../../shared/ports/log.ts";
import { ShellFailure, type ShellTarget } from "../../../shared/ports/shell.ts";
import { applyProxy, type ProxyParts } from "../../../shared/proxy/apply.ts";
import { claimFence, fencedStep } from "../../../shared/shell/fence.ts";
import { removeHostHook } from "../hooks/remove.ts";
import { isPooled } from "../pool.ts";
import type { ProjectRow } from "../project-row.ts";
import { removeScript } from "./remove-script.ts";
import type { RemovalOrder } from "./start.ts";
import { projectOfRemoval, type RemovalEvent, type RemovalState } from "./states.ts";
import { wipe } from "./wipe.ts";

export interface RemovalParts extends ProxyParts {
  /** Holds the rings `server` and `git`. */
  sealer: Sealer;
  gitHostApi: GitHostApi;
  clock: Clock;
  log: Log;
}

export type RemovalContext = OperationContext<RemovalState, RemovalEvent>;

const callMs = 30_000;
const removeMs = 60_000;

export async function remove(parts: RemovalParts, context: RemovalContext): Promise<void> {
  if (context.state === "queued") await context.transition("start");
  const project = await projectOf(parts, context);
  const target = await targetOf(parts, project);
  if (target !== null) {
    const hidden = await isPooled(parts.db, project);
    await removeFromServer(parts, context, project, target).catch((error: unknown) => {
      throw hidden ? hidePoolServer(error) : error;
    });
  }
  const { by } = context.progress as unknown as RemovalOrder;
  await removeHostHook(parts, by, project);
  await context.transition("finish", (tx) =>
    wipe(tx, { project, released: false, by, baseDomain: parts.baseDomain }),
  );
}

/** The project is as it was; the proxy is told if it was told before. That it cannot be told is no second error: its next change carries it. */
export async function putBack(parts: RemovalParts, context: RemovalContext): Promise<void> {
  const project = await projectOf(parts, context);
  await context.write(async (tx) => {
    await tx
      .update(projects)
      .set({ deletingAt: null })
      .where(and(eq(projects.id, project.id), isNull(projects.deletedAt)));
  });
  if (context.progress["routeTaken"] !== true) return;
  const fence = { resource: project.id, token: context.leaseToken };
  try {
    await applyProxy(parts, { ...onServer(project, context), fence });
  } catch (error) {
    context.signal.throwIfAborted();
    parts.log.info({ err: error, projectId: project.id }, "a project's route could not be put back at once");
  }
}

async function projectOf({ db }: RemovalParts, context: RemovalContext): Promise<ProjectRow> {
  const [project] = await db
    .select()
    .from(projects)
    .where(eq(projects.id, projectOfRemoval(context.subjectId)));
  if (project === undefined) throw new Error("a removal has no project");
  return project;
}

/** null: the server has been forgotten, so there is nothing to ask. */
async function targetOf(parts: RemovalParts, project: ProjectRow): Promise<ShellTarget | null> {
  const [server] = await parts.db.select().from(servers).where(eq(servers.id, project.serverId));
  return server === undefined || server.deletedAt !== null ? null : serverTarget(server, parts.sealer);
}

async function removeFromServer(
  parts: RemovalParts,
  context: RemovalContext,
  project: ProjectRow,
  target: ShellTarget,
): Promise<void> {
  const { shell } = parts;
  const { signal } = context;
  const fence = { resource: project.id, token: context.leaseToken };
  const again = <T>(work: () => Promise<T>) => tryAgain(work, parts.clock, signal);
  await again(() => claimFence(shell, target, { ...fence, deadlineMs: callMs, signal }));
  if (project.activeDeploymentId !== null) {
    await context.append([], { routeTaken: true });
    await again(() => applyProxy(parts, { ...onServer(project, context), fence }));
  }
  const made = await parts.db
    .select({ id: deployments.id })
    .from(deployments)
    .where(eq(deployments.projectId, project.id))
    .orderBy(asc(deployments.id));
  const step = {
    ...fence,
    script: removeScript,
    args: [project.id, context.progress["volumes"] === true ? "1" : "0"],
    stdin: made.map(({ id }) => `${id}\n`).join(""),
    deadlineMs: removeMs,
    signal,
  };
  const result = await again(() => fencedStep(shell, target, step));
  if (result.stdout.trim() === "gone") return;
  throw new Refusal("upstream", "remove_failed", "Not all of the project could be removed from its server.", {
    cause: new Error(`exit ${result.code}: ${result.stderr.slice(0, 500)}`),
  });
}

function onServer(project: ProjectRow, context: RemovalContext) {
  const transaction: typeof context.write = (work) => context.write(work);
  return { serverId: project.serverId, transaction, signal: context.signal };
}

const tries = 3;

/** A moment of silence is no reason to give up half way; a server that is away is not waited for: a person is. */
async function tryAgain<T>(work: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const passing = error instanceof ShellFailure && ["connection_lost", "deadline"].includes(error.reason);
      if (!passing || attempt === tries) throw error;
      await clock.sleep(1_000 * attempt, signal);
    }
  }
}
