/**
 * The reconcile job: looks at the branches whose turn it is, a few at a time, each within a bound. A server or a git host
 * that does not answer is told once to the log and looked at less and less often; it never stops the others.
 */
import type { Sealer } from "../../../shared/crypto/seal.ts";
import type { Database } from "../../../shared/db/database.ts";
import { serverTarget } from "../../../shared/db/server-target.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Log, LogFields } from "../../../shared/ports/log.ts";
import type { Shell } from "../../../shared/ports/shell.ts";
import { DeployFailure } from "../failure.ts";
import { cloneUrlOf, readGitAccess } from "../git-access.ts";
import { type PoolRules, pinned, rulesFor } from "../pool-rules.ts";
import { serverOf } from "../store.ts";
import { type DueBranch, noteMiss, refreshWatched, takeTurns } from "./due.ts";
import { lookAtHead, type SeenHead } from "./look.ts";
import { noteHead } from "./note.ts";

export interface ReconcileParts {
  db: Database;
  shell: Shell;
  /** Holds the rings `server` and `git`. */
  sealer: Sealer;
  log: Log;
  pool: PoolRules;
  /** Between two looks at one branch, more or less. */
  everyMs: number;
  signal: AbortSignal;
}

/** Looks at all that is due; answers how many deployments it raised. */
export async function reconcile(parts: ReconcileParts): Promise<number> {
  await refreshWatched(parts.db);
  let raised = 0;
  for (let round = 0; round < limits.reconcileRounds && !parts.signal.aborted; round++) {
    const due = await takeTurns(parts.db, parts.everyMs, limits.reconcileAtOnce);
    const looks = await Promise.all(due.map((each) => look(parts, each)));
    raised += looks.filter((id) => id !== null).length;
    if (due.length < limits.reconcileAtOnce) break;
  }
  return raised;
}

async function look(parts: ReconcileParts, due: DueBranch): Promise<string | null> {
  const { db, log, signal } = parts;
  const { projectId } = due;
  try {
    const seen = await headOf(parts, due);
    if (seen === null) throw new Error("the git host has no such branch");
    const raised = await noteHead(db, due, seen);
    if (raised !== null) {
      const commit = { projectId, operationId: raised, commitSha: seen.commitSha };
      log.info(commit, "a push came without its delivery; its head is deployed");
    }
    return raised;
  } catch (error) {
    if (signal.aborted) return null;
    const told = { ...whatFailed(error), projectId };
    if (due.misses === 0) log.warn(told, "a branch could not be looked at; later again");
    else log.debug(told, "a branch could still not be looked at");
    await noteMiss(db, due, parts.everyMs).catch((second: unknown) =>
      log.warn({ err: second, projectId }, "nor was that written"),
    );
    return null;
  }
}

/** Of a git host's own words nothing: they are whatever it likes, a credential that it was shown included. */
function whatFailed(error: unknown): LogFields {
  return error instanceof DeployFailure ? { code: error.code, reason: error.message } : { err: error };
}

async function headOf(
  { db, shell, sealer, pool, signal }: ReconcileParts,
  due: DueBranch,
): Promise<SeenHead | null> {
  const server = await serverOf(db, due.serverId);
  if (server === undefined) throw new Error("the server is gone");
  const access = await readGitAccess(db, sealer, due.source, due.organizationId);
  const source = await pinned(rulesFor(server, due, pool), cloneUrlOf(due.source, access));
  return lookAtHead(shell, serverTarget(server, sealer), { ...source, branch: due.branch, access }, signal);
}
