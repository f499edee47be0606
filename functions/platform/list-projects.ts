/** The projects that a caller may see, newest first. */
import { and, desc, eq, isNull } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { seenProjects } from "../../shared/db/narrowing.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { projects } from "../../shared/db/project-tables.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { showProjects } from "./project-row.ts";

export async function listProjects(
  db: Queryable,
  principal: Principal,
  page: PageRequest,
  baseDomain: string,
) {
  const rows = await db
    .select()
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, principal.organizationId),
        isNull(projects.deletedAt),
        seenProjects(principal),
        behindCursor(projects.id, page),
      ),
    )
    .orderBy(desc(projects.id))
    .limit(page.limit + 1);
  const cut = toPage(rows, page, (row) => row);
  return { data: await showProjects(db, cut.data, baseDomain), nextCursor: cut.nextCursor };
}
