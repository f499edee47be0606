/** What of a project's rows is shown. Columns are named: the sealed webhook secret never leaves, nor does a server of the operator's pool. */
import { asc, eq, sql } from "drizzle-orm";
import { builtOnce, unnamed } from "../../shared/db/built-once.ts";
import type { Queryable } from "../../shared/db/database.ts";
import { domains, projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import type { BuildStrategy } from "../../shared/domain/deployment.ts";
import { projectUrls } from "../../shared/proxy/address.ts";

export type ProjectRow = typeof projects.$inferSelect;

/** Domains and servers of all rows are read in one query, whatever their number. */
export async function showProjects(db: Queryable, rows: ProjectRow[], baseDomain: string) {
  if (rows.length === 0) return [];
  const around = await aroundProjects(db).execute({ ids: rows.map((row) => row.id) });
  return rows.map((row) => {
    const own = around.filter((each) => each.projectId === row.id);
    const names = own.flatMap(({ hostname }) => (hostname === null ? [] : [{ hostname }]));
    const [place] = own;
    const ports = { httpPort: place?.httpPort ?? 80, httpsPort: place?.httpsPort ?? 443 };
    const isOwn = place?.serverOwner === row.organizationId;
    return {
      ...show(row, projectUrls(row, names, ports, baseDomain)),
      serverId: isOwn ? row.serverId : null,
    };
  });
}

const aroundProjects = builtOnce((db) =>
  db
    .select({
      projectId: projects.id,
      hostname: domains.hostname,
      serverOwner: servers.organizationId,
      httpPort: servers.httpPort,
      httpsPort: servers.httpsPort,
    })
    .from(projects)
    .leftJoin(servers, eq(servers.id, projects.serverId))
    .leftJoin(domains, eq(domains.projectId, projects.id))
    .where(sql`${projects.id} = any(${sql.placeholder("ids")}::text[])`)
    .orderBy(asc(domains.id))
    .prepare(unnamed),
);

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
    hookRegistered: row.hostHook !== null,
    commitStatusProblem: row.statusProblem,
    activeDeploymentId: row.activeDeploymentId,
    deleting: row.deletingAt !== null,
    urls,
    location: row.location,
    cloudProjectId: row.cloudProjectId,
    createdAt: row.createdAt.toISOString(),
  };
}
