/**
 * What of a project's rows goes with it: secrets for good, names and ports become free. The deployments stay as
 * history. A released one keeps its port and its active deployment, since that container goes on running and the clean-up
 * of others must not take it.
 */
import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { type AuditedActor, writeAudit } from "../../../shared/db/audit.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import {
  domains,
  projectEnv,
  projectServices,
  projects,
  releasedRoutes,
} from "../../../shared/db/project-tables.ts";
import { notFound, Refusal } from "../../../shared/domain/refusal.ts";
import { defaultHostname } from "../../../shared/proxy/address.ts";
import { noHook } from "../hooks/link.ts";
import type { ProjectRow } from "../project-row.ts";

export interface Wiping {
  project: ProjectRow;
  released: boolean;
  by: AuditedActor;
  baseDomain: string;
}

export async function wipe(tx: Transaction, { project, released, by, baseDomain }: Wiping): Promise<void> {
  const { id } = project;
  if (!released) await forgetReleasedBefore(tx, project, baseDomain);
  await tx.delete(projectEnv).where(eq(projectEnv.projectId, id));
  await tx.delete(projectServices).where(eq(projectServices.projectId, id));
  await tx.delete(domains).where(eq(domains.projectId, id));
  await tx
    .update(deployments)
    .set({ sealedEnv: null, ...(released ? {} : { hostPort: null, artifact: "none" }) })
    .where(eq(deployments.projectId, id));
  await tx
    .update(projects)
    .set({
      ...noHook,
      deletingAt: null,
      deletedAt: sql`now()`,
      ...(released ? {} : { activeDeploymentId: null }),
    })
    .where(and(eq(projects.id, id), isNull(projects.deletedAt)));
  const action = released ? "project.released" : "project.deleted";
  await writeAudit(tx, by, { action, resource: { kind: "project", id } });
}

/** A name that it took over from a released project does not fall back to that one. */
async function forgetReleasedBefore(tx: Transaction, project: ProjectRow, baseDomain: string): Promise<void> {
  const attached = await tx
    .select({ hostname: domains.hostname })
    .from(domains)
    .where(eq(domains.projectId, project.id));
  const names = [defaultHostname(project.slug, baseDomain), ...attached.map(({ hostname }) => hostname)];
  await tx
    .delete(releasedRoutes)
    .where(and(eq(releasedRoutes.serverId, project.serverId), inArray(releasedRoutes.hostname, names)));
}

/** Its row under a lock that excludes a deployment being made at this moment. Throws 404, or 409 while one is in flight. */
export async function lockIdle(tx: Transaction, id: string): Promise<ProjectRow> {
  const [project] = await tx.select().from(projects).where(eq(projects.id, id)).for("update");
  if (project === undefined || project.deletedAt !== null) throw notFound();
  const open = and(
    eq(operations.subjectId, id),
    eq(operations.kind, "deployment"),
    eq(operations.final, false),
  );
  if ((await tx.$count(operations, open)) > 0) {
    throw new Refusal(
      "conflict",
      "deployment_in_flight",
      "A deployment of this project is in flight. Cancel it or wait until it has ended.",
    );
  }
  return project;
}
