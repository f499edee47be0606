/** Services of a project, newest first. */
import { and, desc, eq } from "drizzle-orm";
import { behindCursor, type PageRequest, toPage } from "../../../shared/db/page.ts";
import { projectServices } from "../../../shared/db/project-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { PlatformParts } from "../parts.ts";
import { loadProjectOfServices } from "./project-of.ts";
import { showService } from "./show.ts";

export async function listServices(
  parts: PlatformParts,
  principal: Principal,
  projectId: string,
  page: PageRequest,
) {
  await loadProjectOfServices(parts.db, principal, projectId);
  const rows = await parts.db
    .select()
    .from(projectServices)
    .where(and(eq(projectServices.projectId, projectId), behindCursor(projectServices.id, page)))
    .orderBy(desc(projectServices.id))
    .limit(page.limit + 1);
  const { data, nextCursor } = toPage(rows, page, (row) => showService(parts, row));
  return { data: await Promise.all(data), nextCursor };
}
