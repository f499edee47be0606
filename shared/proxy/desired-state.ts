/**
 * What a server should serve, read from the database: every live project with an active deployment, under its default
 * address and its domains, and what was released, under the names that no live project has taken. Called inside the transaction that changed it, so that the revision stands for all of it.
 */
import { and, asc, eq, inArray, isNotNull, isNull } from "drizzle-orm";
import type { Queryable } from "../db/database.ts";
import { deployments } from "../db/deployment-tables.ts";
import { domains, projects, releasedRoutes } from "../db/project-tables.ts";
import { defaultHostname } from "./address.ts";
import type { DesiredRoute, RoutedHostname } from "./configuration.ts";

export async function desiredRoutes(
  db: Queryable,
  serverId: string,
  baseDomain: string,
): Promise<DesiredRoute[]> {
  const live = await db
    .select({ projectId: projects.id, slug: projects.slug, hostPort: deployments.hostPort })
    .from(projects)
    .innerJoin(deployments, eq(deployments.id, projects.activeDeploymentId))
    .where(
      and(
        eq(projects.serverId, serverId),
        isNull(projects.deletedAt),
        isNull(projects.deletingAt),
        isNotNull(deployments.hostPort),
      ),
    )
    .orderBy(asc(projects.id));
  const attached = await hostnamesOf(
    db,
    live.map((project) => project.projectId),
  );
  const routes = live.flatMap(({ projectId, slug, hostPort }) => {
    if (hostPort === null) return [];
    const own: RoutedHostname = { hostname: defaultHostname(slug, baseDomain) };
    return [{ projectId, hostnames: [own, ...(attached.get(projectId) ?? [])], upstreamPort: hostPort }];
  });
  const taken = new Set(routes.flatMap(({ hostnames }) => hostnames.map(({ hostname }) => hostname)));
  return [...routes, ...(await routesOfReleased(db, serverId, taken))];
}

async function routesOfReleased(
  db: Queryable,
  serverId: string,
  taken: ReadonlySet<string>,
): Promise<DesiredRoute[]> {
  const rows = await db
    .select()
    .from(releasedRoutes)
    .where(eq(releasedRoutes.serverId, serverId))
    .orderBy(asc(releasedRoutes.hostname));
  return rows.flatMap(({ projectId, hostname, targetPath, redirectTo, upstreamPort }) => {
    if (taken.has(hostname)) return [];
    const name = { hostname, targetPath: targetPath ?? undefined, redirectTo: redirectTo ?? undefined };
    return [{ projectId, hostnames: [name], upstreamPort }];
  });
}

async function hostnamesOf(db: Queryable, projectIds: string[]): Promise<Map<string, RoutedHostname[]>> {
  const found = new Map<string, RoutedHostname[]>();
  if (projectIds.length === 0) return found;
  const rows = await db
    .select({
      projectId: domains.projectId,
      hostname: domains.hostname,
      targetPath: domains.targetPath,
      redirectTo: domains.redirectTo,
    })
    .from(domains)
    .where(inArray(domains.projectId, projectIds))
    .orderBy(asc(domains.id));
  for (const { projectId, hostname, targetPath, redirectTo } of rows) {
    const name = { hostname, targetPath: targetPath ?? undefined, redirectTo: redirectTo ?? undefined };
    found.set(projectId, [...(found.get(projectId) ?? []), name]);
  }
  return found;
}
