/**
 * Ids that came back from the cloud, kept with the project here that they belong to. One that is in use here is left out:
 * a cloud that answers it could otherwise put itself before a deployment of this side.
 */
import { inArray } from "drizzle-orm";
import { cloudResources } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";

/** Of an answer about deployments: one, a page of them, or what the wizard is told. */
export function deploymentIdsIn(answer: Record<string, unknown>): string[] {
  const data = answer["data"];
  const rows: unknown[] = Array.isArray(data) ? data.slice(0, limits.pageMost) : [data];
  const ids = [answer["deployment_id"], ...rows.map((row) => (row as { id?: unknown } | undefined)?.id)];
  return ids.filter((id): id is string => typeof id === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(id));
}

export async function rememberDeployments(
  db: Queryable,
  project: { id: string; organizationId: string },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { id: projectId, organizationId } = project;
  const local = await db.select({ id: deployments.id }).from(deployments).where(inArray(deployments.id, ids));
  const foreign = ids.filter((id) => !local.some((row) => row.id === id));
  if (foreign.length === 0) return;
  const rows = foreign.map((id) => ({ organizationId, kind: "deployment" as const, id, projectId }));
  await db.insert(cloudResources).values(rows).onConflictDoNothing();
}
