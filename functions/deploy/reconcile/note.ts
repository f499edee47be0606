/**
 * What was seen of a branch is written, and a head that nobody told of is deployed: in one transaction, behind the lock
 * that the settling of pushes takes, and only while the row still says what it said before the look. So a push that came
 * meanwhile, or another replica, makes no second deployment.
 */
import { and, desc, eq, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../../shared/db/database.ts";
import { branchHeads } from "../../../shared/db/delivery-tables.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { organizations } from "../../../shared/db/identity-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { insertDeployment } from "../store.ts";
import type { DueBranch } from "./due.ts";
import type { SeenHead } from "./look.ts";

/** Answers the id of the deployment that was raised; null where there was none to raise. */
export async function noteHead(db: Database, due: DueBranch, seen: SeenHead): Promise<string | null> {
  return db.transaction(async (tx) => {
    await tx.execute(
      sql`select pg_advisory_xact_lock(hashtextextended('slipway push ' || ${due.projectId}, 0))`,
    );
    const isFirst = due.head === null || due.head === seen.commitSha;
    const newest = isFirst ? undefined : await newestDeployment(tx, due.projectId);
    // One that is going to fetch this head takes it along; the next look sees.
    if (newest !== undefined && !newest.final && newest.commitSha === null) return null;
    if (!(await recordHead(tx, due, seen.commitSha))) return null;
    if (isFirst || newest?.commitSha === seen.commitSha) return null;
    return raise(tx, due, seen);
  });
}

/** false: somebody else has written since. */
async function recordHead(tx: Transaction, due: DueBranch, head: string): Promise<boolean> {
  const { projectId, source, head: last } = branchHeads;
  const rows = await tx
    .update(branchHeads)
    .set({ head, misses: 0 })
    .where(
      and(
        eq(projectId, due.projectId),
        eq(source, due.sourceKey),
        sql`${last} is not distinct from ${due.head}`,
      ),
    )
    .returning({ projectId });
  return rows.length > 0;
}

async function newestDeployment(tx: Transaction, projectId: string) {
  const [row] = await tx
    .select({ commitSha: deployments.commitSha, final: operations.final })
    .from(deployments)
    .innerJoin(operations, eq(operations.id, deployments.id))
    .where(eq(deployments.projectId, projectId))
    .orderBy(desc(deployments.id))
    .limit(1);
  return row;
}

/** Like a push: attributed to the organization's primary owner. */
async function raise(tx: Transaction, due: DueBranch, seen: SeenHead): Promise<string | null> {
  const [project] = await tx
    .select({
      createdBy: organizations.primaryOwnerId,
      autoDeploy: projects.autoDeploy,
      gone: projects.deletingAt,
      location: projects.location,
      // It may have moved during the look.
      serverId: projects.serverId,
    })
    .from(projects)
    .innerJoin(organizations, eq(organizations.id, projects.organizationId))
    .where(eq(projects.id, due.projectId))
    .for("share", { of: projects });
  if (project === undefined || !project.autoDeploy || project.gone !== null) return null;
  if (project.location !== "local") return null;
  const { projectId, organizationId, head: beforeSha } = due;
  const { serverId, createdBy } = project;
  return insertDeployment(tx, {
    ...{ projectId, organizationId, serverId, beforeSha, ...seen },
    ...{ trigger: "reconcile", createdBy },
  });
}
