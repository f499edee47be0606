/** Deployments of the organization, newest first; those of projects that a narrowed token may see. */
import type { Database } from "../../shared/db/database.ts";
import { seenProjects } from "../../shared/db/narrowing.ts";
import { type PageRequest, toPage } from "../../shared/db/page.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { shape } from "./shape.ts";
import { listViews } from "./store.ts";

export async function list(
  db: Database,
  principal: Principal,
  query: PageRequest & { projectId?: string | undefined },
) {
  if (query.projectId !== undefined) await load(db, principal, "project", query.projectId);
  const only = { organizationId: principal.organizationId, projectId: query.projectId };
  const views = await listViews(db, { ...only, seen: seenProjects(principal) }, query);
  return toPage(views, query, shape);
}
