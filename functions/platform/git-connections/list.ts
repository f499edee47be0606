/** Git connections of the organization, newest first. */
import { and, desc, eq, isNull } from "drizzle-orm";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { behindCursor, type PageRequest, toPage } from "../../../shared/db/page.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { showGitConnection } from "./show.ts";

export async function listGitConnections(db: Queryable, principal: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(gitConnections)
    .where(
      and(
        eq(gitConnections.organizationId, principal.organizationId),
        isNull(gitConnections.deletedAt),
        behindCursor(gitConnections.id, page),
      ),
    )
    .orderBy(desc(gitConnections.id))
    .limit(page.limit + 1);
  return toPage(rows, page, showGitConnection);
}
