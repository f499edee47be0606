/** The git connection that a project's source names, as long as it is there; its secret is still sealed. */
import { and, eq, isNull } from "drizzle-orm";
import type { ProjectSource } from "../domain/project.ts";
import { gitConnections } from "./connection-tables.ts";
import type { Queryable } from "./database.ts";

export async function connectionOfSource(
  db: Queryable,
  { organizationId, source }: { organizationId: string; source: ProjectSource },
) {
  if (source.kind !== "git" || source.connectionId === undefined) return undefined;
  const [row] = await db
    .select({
      id: gitConnections.id,
      kind: gitConnections.kind,
      baseUrl: gitConnections.baseUrl,
      hostKey: gitConnections.hostKey,
      sealedSecret: gitConnections.sealedSecret,
    })
    .from(gitConnections)
    .where(
      and(
        eq(gitConnections.id, source.connectionId),
        eq(gitConnections.organizationId, organizationId),
        isNull(gitConnections.deletedAt),
      ),
    );
  return row;
}
