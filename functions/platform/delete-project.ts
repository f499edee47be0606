/**
 * Deletes a project. What is on its server is removed by an operation (removal/), so that a process that dies half way
 * leaves nothing for ever; the request waits for its end, for a while. `release` asks the server for nothing.
 */
import { eq } from "drizzle-orm";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import type { Feed } from "../../shared/operations/follow.ts";
import { removeHostHook } from "./hooks/remove.ts";
import type { PlatformParts } from "./parts.ts";
import { isPooled } from "./pool.ts";
import type { ProjectRow } from "./project-row.ts";
import { releaseProject } from "./removal/release.ts";
import { startRemoval } from "./removal/start.ts";
import { lockIdle, wipe } from "./removal/wipe.ts";

export interface DeleteParts extends PlatformParts {
  feed: Feed;
}

/** Answers whether it is over; false: its removal goes on. */
export async function deleteProject(
  parts: DeleteParts,
  principal: Principal,
  id: string,
  how: { release: boolean; volumes: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  if (how.release && how.volumes) {
    throw invalid("query.volumes", "has no meaning together with release, which leaves everything as it is");
  }
  const project = await load(parts.db, principal, "project", id);
  if (how.release) {
    await refuseOnPool(parts, project);
    await releaseProject(parts, principal, id);
    return true;
  }
  const { operationId, wiped } = await parts.db.transaction(async (tx) => {
    // Nothing of it was ever on the server.
    if ((await tx.$count(deployments, eq(deployments.projectId, id))) === 0) {
      const project = await lockIdle(tx, id);
      await wipe(tx, { project, released: false, by: principal, baseDomain: parts.baseDomain });
      return { operationId: null, wiped: project };
    }
    const order = { volumes: how.volumes, by: principal };
    return { operationId: await startRemoval(tx, id, order), wiped: null };
  });
  if (wiped !== null) await removeHostHook(parts, principal, wiped);
  return operationId === null || (await outcome(parts, operationId, signal));
}

/** What nobody's project owns would run there for ever, without anybody to stop it. */
async function refuseOnPool({ db }: DeleteParts, project: ProjectRow): Promise<void> {
  if (!(await isPooled(db, project))) return;
  throw new Refusal(
    "conflict",
    "pool_keeps_nothing",
    "The project runs on the pool of this cloud, where nothing is left running. Delete it without `release`.",
  );
}

async function outcome(
  { db, feed }: DeleteParts,
  operationId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(limits.removalWaitMs)]);
  if (!(await feed.settled(operationId, patience))) return false;
  const [ended] = await db
    .select({ state: operations.state, error: operations.error })
    .from(operations)
    .where(eq(operations.id, operationId));
  if (ended?.state === "done") return true;
  const { code, message, hint } = ended?.error ?? {
    code: "internal",
    message: "Internal error.",
    hint: null,
  };
  throw new Refusal("upstream", code, hint === null ? message : `${message} ${hint}`);
}
