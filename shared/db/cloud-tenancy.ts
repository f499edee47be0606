/**
 * The door of tenancy for ids of the cloud: an id that came back through this instance leads to the promoted project
 * here, for who sees that project. Undefined for everything else, since the same path may name a local row.
 */
import { and, desc, eq, isNull, or } from "drizzle-orm";
import type { Principal } from "../domain/principal.ts";
import { cloudResources } from "./connection-tables.ts";
import type { Queryable } from "./database.ts";
import { seenProjects } from "./narrowing.ts";
import { projects } from "./project-tables.ts";

export type PromotedProject = typeof projects.$inferSelect;

export async function projectOfCloudId(
  db: Queryable,
  principal: Principal,
  kind: "deployment",
  id: string,
): Promise<PromotedProject | undefined> {
  const [row] = await db
    .select({ project: projects })
    .from(cloudResources)
    .innerJoin(projects, eq(projects.id, cloudResources.projectId))
    .where(
      and(
        eq(cloudResources.organizationId, principal.organizationId),
        eq(cloudResources.kind, kind),
        eq(cloudResources.id, id),
        ofPrincipal(principal),
      ),
    );
  return row?.project;
}

/** A project by its id here, or by the one that it has in the cloud. */
export async function findProject(db: Queryable, principal: Principal, id: string) {
  const [row] = await db
    .select()
    .from(projects)
    .where(
      and(
        or(eq(projects.id, id), and(eq(projects.cloudProjectId, id), eq(projects.location, "cloud"))),
        ofPrincipal(principal),
      ),
    )
    // Whatever the cloud calls its own: an id of this side means what is here.
    .orderBy(desc(eq(projects.id, id)))
    .limit(1);
  return row;
}

function ofPrincipal(principal: Principal) {
  return and(
    eq(projects.organizationId, principal.organizationId),
    isNull(projects.deletedAt),
    seenProjects(principal),
  );
}
