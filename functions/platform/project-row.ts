/** What of a project's rows is shown. Columns are named: the sealed webhook secret never leaves. */
import { asc, inArray } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { domains, type projects, servers } from "../../shared/db/schema.ts";
import type { BuildStrategy } from "../../shared/domain/deployment.ts";
import { projectUrls } from "../../shared/proxy/address.ts";

export type ProjectRow = typeof projects.$inferSelect;

/** Domains and servers of all rows are read in two queries, whatever their number. */
export async function showProjects(db: Queryable, rows: ProjectRow[], baseDomain: string) {
  if (rows.length === 0) return [];
  const projectIds = rows.map((row) => row.id);
  const serverIds = [...new Set(rows.map((row) => row.serverId))];
  const attached = await db
    .select({ projectId: domains.projectId, hostname: domains.hostname })
    .from(domains)
    .where(inArray(domains.projectId, projectIds))
    .orderBy(asc(domains.id));
  const on = await db
    .select({ id: servers.id, httpPort: servers.httpPort, httpsPort: servers.httpsPort })
    .from(servers)
    .where(inArray(servers.id, serverIds));
  return rows.map((row) => {
    const names = attached.filter((domain) => domain.projectId === row.id);
    const ports = on.find((server) => server.id === row.serverId) ?? { httpPort: 80, httpsPort: 443 };
    return show(row, projectUrls(row, names, ports, baseDomain));
  });
}

export async function showProject(db: Queryable, row: ProjectRow, baseDomain: string) {
  const [shown] = await showProjects(db, [row], baseDomain);
  if (shown === undefined) throw new Error("One row is shown as one project");
  return shown;
}

function show(row: ProjectRow, urls: string[]) {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    kind: row.kind,
    serverId: row.serverId,
    source: row.source,
    autoDeploy: row.autoDeploy,
    rebuildAllNext: row.rebuildAllNext,
    rootDirectory: row.rootDirectory,
    buildStrategy: row.buildStrategy as BuildStrategy,
    build: row.build,
    healthCheck: row.healthCheck,
    updateStrategy: row.updateStrategy ?? null,
    resources: row.resources,
    volumes: row.volumes,
    rollbackWindow: row.rollbackWindow,
    linked: row.sealedWebhookSecret !== null,
    activeDeploymentId: row.activeDeploymentId,
    deleting: row.deletingAt !== null,
    urls,
    location: "local" as const,
    cloudProjectId: null,
    createdAt: row.createdAt.toISOString(),
  };
}
