/**
 * A git connection that leads to another address takes the registered webhooks of its projects along: off the old host with
 * the old token, since nobody has it later, and onto the new one with secrets that the old host never saw. What could not
 * be moved is told; its project is unlinked, and `link` registers anew. One that was added by hand counts no more. Only a promoted project keeps its secret, with which
 * the cloud verifies. Rejected: refusing while there are hooks (each project would have to be unlinked by hand), and
 * moving them in the background (the old token would have to be kept, and the answer could not say what stays).
 */
import { and, asc, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type { Transaction } from "../../../shared/db/database.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { GitConnectionRow } from "../git-connections/show.ts";
import type { PlatformParts } from "../parts.ts";
import type { ProjectRow } from "../project-row.ts";
import { leavesHook, leftByHand, registerWithSource } from "./follow-source.ts";
import { noHook } from "./link.ts";
import { removeHostHook } from "./remove.ts";

/** After the connection was written. Answers the projects whose webhooks stand elsewhere now, as they were. */
export async function leaveHooks(tx: Transaction, before: GitConnectionRow): Promise<ProjectRow[]> {
  const hooked = await tx
    .select()
    .from(projects)
    .where(
      and(
        sql`${projects.source} ->> 'connectionId' = ${before.id}`,
        isNull(projects.deletedAt),
        isNotNull(projects.sealedWebhookSecret),
      ),
    )
    .orderBy(asc(projects.id))
    .for("no key update");
  const left: ProjectRow[] = [];
  for (const project of hooked) {
    // The cloud verifies with the same secret.
    if (project.location === "cloud" && project.hostHook === null) continue;
    if (!(await leavesHook(tx, project, project.source, before))) continue;
    const hook = project.location === "cloud" ? { hostHook: null } : noHook;
    await tx
      .update(projects)
      .set({ ...hook, statusProblem: null })
      .where(eq(projects.id, project.id));
    left.push(project);
  }
  return left;
}

/** After the transaction, within a bound: somebody waits. Answers what a person has to know. */
export async function moveHooks(
  parts: PlatformParts,
  principal: Principal,
  before: GitConnectionRow,
  left: readonly ProjectRow[],
): Promise<string[]> {
  const endMs = parts.clock.nowMs() + limits.hooksMoveMs;
  const warnings: string[] = [];
  for (let first = 0; first < left.length; first += limits.hooksMovedAtOnce) {
    const some = left.slice(first, first + limits.hooksMovedAtOnce);
    const isLate = parts.clock.nowMs() >= endMs;
    const told = await Promise.all(
      some.map((project) => (isLate ? [late(project)] : moveHook(parts, principal, before, project))),
    );
    warnings.push(...told.flat());
  }
  return warnings;
}

async function moveHook(
  parts: PlatformParts,
  principal: Principal,
  before: GitConnectionRow,
  project: ProjectRow,
): Promise<string[]> {
  const { id, name } = project;
  const reason = await removeHostHook(parts, principal, project, before);
  const stays = reason === null ? [] : [`${name}: the webhook is still at the git host. ${reason}`];
  const [now] = await parts.db.select().from(projects).where(eq(projects.id, id));
  if (now === undefined || now.deletedAt !== null || now.deletingAt !== null) return stays;
  const moved = await registerWithSource(parts, principal, now);
  if (project.hostHook === null) return [`${name}: ${leftByHand(project, moved)}`];
  return moved.hostHook === null ? [...stays, linkAgain(project, "could not be registered")] : stays;
}

const late = (project: ProjectRow) => linkAgain(project, "was not moved, since the git hosts take too long");

function linkAgain({ id, name }: ProjectRow, what: string): string {
  return `${name}: its webhook ${what} at the new address. POST /api/projects/${id}/link tries again and says why.`;
}
