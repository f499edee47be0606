/**
 * Sends the commit statuses that wait, from the rows alone, so that a killed process loses none. A git host that is away
 * is asked again for some hours; one that says no is believed, and the project says why until a status goes again.
 */
import { and, eq, isNotNull, isNull, ne, or } from "drizzle-orm";
import type { Sealer } from "../../../shared/crypto/seal.ts";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Database } from "../../../shared/db/database.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { apiRepositoryUrl } from "../../../shared/domain/git-connection.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import {
  type ApiRepository,
  type GitHostApi,
  GitHostApiFailure,
} from "../../../shared/ports/git-host-api.ts";
import type { Log } from "../../../shared/ports/log.ts";
import { readGitAccess } from "../git-access.ts";
import { settleStatus, type TakenStatus, takeDueStatuses } from "./outbox.ts";

export interface StatusParts {
  db: Database;
  /** Holds the ring `git`. */
  sealer: Sealer;
  gitHostApi: GitHostApi;
  clock: Clock;
  log: Log;
  /** Without a slash at the end. */
  baseUrl: string;
}

/** All that is due now. Each is sent within its deadline, so this ends. */
export async function sendDueStatuses(parts: StatusParts): Promise<void> {
  for (;;) {
    const taken = await takeDueStatuses(parts.db, limits.statusesAtOnce, parts.clock.nowMs());
    await Promise.all(taken.map((each) => send(parts, each)));
    if (taken.length < limits.statusesAtOnce) return;
  }
}

async function send(parts: StatusParts, taken: TakenStatus): Promise<void> {
  const againAtMs = await attempt(parts, taken).then(
    () => null,
    (error: unknown) => nextTry(parts, taken, error),
  );
  await settleStatus(parts.db, taken, againAtMs);
}

async function attempt(parts: StatusParts, taken: TakenStatus): Promise<void> {
  const repository = await repositoryOf(parts, taken);
  if (repository === null) return;
  await parts.gitHostApi.setStatus(repository, {
    commitSha: taken.commitSha,
    state: taken.state,
    context: `slipway/${taken.slug}`,
    description: taken.description,
    targetUrl: `${parts.baseUrl}/api/deployments/${taken.deploymentId}`,
  });
  await noteWell(parts, taken);
}

/** null: there is nobody to tell any more. */
async function repositoryOf(
  { db, sealer }: StatusParts,
  { source, organizationId, projectDeleted }: TakenStatus,
): Promise<ApiRepository | null> {
  if (projectDeleted || source.kind !== "git") return null;
  const access = await readGitAccess(db, sealer, source, organizationId);
  if (access === null || access.kind !== "token") return null;
  const url = apiRepositoryUrl(access.baseUrl, source);
  return url === null ? null : { url, token: access.secret };
}

/** When to try again, or null. */
async function nextTry(parts: StatusParts, taken: TakenStatus, error: unknown): Promise<number | null> {
  const { projectId, deploymentId } = taken;
  const known = error instanceof GitHostApiFailure ? error : null;
  if (known === null) parts.log.error({ err: error, deploymentId }, "a commit status could not be sent");
  if (known?.kind === "denied") {
    await noteProblem(parts, taken, known.message);
    return null;
  }
  if (known?.kind === "invalid") {
    parts.log.info({ projectId, deploymentId }, "the git host takes no status for this commit");
    return null;
  }
  const nowMs = parts.clock.nowMs();
  if (nowMs - taken.firstTriedMs >= limits.statusGiveUpMs) {
    parts.log.warn({ projectId, deploymentId }, "a commit status was given up");
    return null;
  }
  const doubled = limits.statusRetryMs * 2 ** Math.min(taken.attempts - 1, 20);
  return nowMs + Math.max(Math.min(doubled, limits.statusRetryMostMs), known?.retryAfterMs ?? 0);
}

/** Once, until a status goes again or the reason is another one. */
async function noteProblem(
  { db, log }: StatusParts,
  { projectId, organizationId }: TakenStatus,
  problem: string,
): Promise<void> {
  const nobody = { userId: null, credentialId: null, sourceIp: null, requestId: null };
  await db.transaction(async (tx) => {
    const noted = await tx
      .update(projects)
      .set({ statusProblem: problem })
      .where(
        and(
          eq(projects.id, projectId),
          or(isNull(projects.statusProblem), ne(projects.statusProblem, problem)),
        ),
      )
      .returning({ id: projects.id });
    if (noted.length === 0) return;
    log.warn({ projectId, problem }, "the git host takes no commit statuses of this project");
    const resource = { kind: "project", id: projectId };
    const action = "project.commit_statuses_refused";
    await writeAudit(tx, { organizationId, ...nobody }, { action, resource });
  });
}

async function noteWell({ db }: StatusParts, { projectId }: TakenStatus): Promise<void> {
  await db
    .update(projects)
    .set({ statusProblem: null })
    .where(and(eq(projects.id, projectId), isNotNull(projects.statusProblem)));
}
