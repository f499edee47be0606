/** Ids that came back from the cloud, kept with the project here that they belong to. */
import type { Queryable } from "../../../shared/db/database.ts";
import { cloudResources } from "../../../shared/db/schema.ts";
import { limits } from "../../../shared/domain/limits.ts";

/** Of an answer about deployments: one, a page of them, or what the wizard is told. */
export function deploymentIdsIn(answer: Record<string, unknown>): string[] {
  const data = answer["data"];
  const rows: unknown[] = Array.isArray(data) ? data.slice(0, limits.pageMost) : [data];
  const ids = [answer["deployment_id"], ...rows.map((row) => (row as { id?: unknown } | undefined)?.id)];
  return ids.filter((id): id is string => typeof id === "string" && /^[\x21-\x7e]{1,64}$/.test(id));
}

export async function rememberDeployments(
  db: Queryable,
  project: { id: string; organizationId: string },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { id: projectId, organizationId } = project;
  const rows = ids.map((id) => ({ organizationId, kind: "deployment" as const, id, projectId }));
  await db.insert(cloudResources).values(rows).onConflictDoNothing();
}
