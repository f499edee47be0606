/** Whose services: a project that the caller sees and that is made of services. */
import { eq } from "drizzle-orm";
import type { Queryable, Transaction } from "../../../shared/db/database.ts";
import { projectServices, projects } from "../../../shared/db/project-tables.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { notFound, Refusal } from "../../../shared/domain/refusal.ts";
import { refuseInCloud } from "../cloud-link/refuse-in-cloud.ts";
import type { ProjectRow } from "../project-row.ts";
import type { ServiceRow } from "./show.ts";

export async function loadProjectOfServices(
  db: Queryable,
  principal: Principal,
  projectId: string,
): Promise<ProjectRow> {
  const project = await load(db, principal, "project", projectId);
  if (project.kind !== "app") return project;
  throw new Refusal(
    "conflict",
    "project_has_no_services",
    "This project is an app: one container, without services. Change the project itself, or create one of kind compose or monorepo.",
  );
}

/** For a change: one writer at a time, since names and dependencies are checked against all services of the project. */
export async function lockServices(
  tx: Transaction,
  principal: Principal,
  projectId: string,
): Promise<{ project: ProjectRow; services: ServiceRow[] }> {
  const project = await loadProjectOfServices(tx, principal, projectId);
  refuseInCloud(project);
  await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId)).for("no key update");
  const services = await tx.select().from(projectServices).where(eq(projectServices.projectId, projectId));
  return { project, services };
}

export function serviceIn(services: readonly ServiceRow[], id: string): ServiceRow {
  const found = services.find((service) => service.id === id);
  if (found === undefined) throw notFound();
  return found;
}
