/** A project as the cloud takes it in: with its environment and its hook secret opened, and nothing that is a matter of this side. */
import { asc, eq } from "drizzle-orm";
import type { Promotion } from "../../../shared/contract/promotions.ts";
import type { Sealer } from "../../../shared/crypto/seal.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { domains, projectServices, type projects } from "../../../shared/db/project-tables.ts";
import { serviceEnvironmentPlace, webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { openProjectEnvironment } from "../snapshot.ts";

type ProjectRow = typeof projects.$inferSelect;

export async function describeProject(
  db: Queryable,
  sealer: Sealer,
  project: ProjectRow,
): Promise<Promotion> {
  const sealed = project.sealedWebhookSecret;
  const secret = sealed === null ? null : await sealer.open("webhook", webhookSecretPlace(project), sealed);
  return {
    originProjectId: project.id,
    project: settingsOf(project),
    ...(await connectionOf(db, project)),
    env: await openProjectEnvironment(db, sealer, project),
    services: await servicesOf(db, sealer, project),
    domains: await domainsOf(db, project),
    ...(secret === null ? {} : { webhookSecret: secret }),
  };
}

function settingsOf(project: ProjectRow): Promotion["project"] {
  const { name, slug, kind, autoDeploy, rootDirectory, build, healthCheck, resources } = project;
  return {
    ...{ name, slug, kind, autoDeploy, rootDirectory, build, healthCheck, resources },
    source: withoutConnection(project.source),
    buildStrategy: project.buildStrategy as Promotion["project"]["buildStrategy"],
    updateStrategy: project.updateStrategy ?? null,
    ...(kind === "app" ? { volumes: project.volumes } : {}),
    rollbackWindow: project.rollbackWindow,
  };
}

function withoutConnection(source: ProjectRow["source"]): Promotion["project"]["source"] {
  if (source.kind !== "git") return source;
  const { connectionId: _, ...plain } = source;
  return plain;
}

async function connectionOf(db: Queryable, { source }: ProjectRow) {
  if (source.kind !== "git" || source.connectionId === undefined) return {};
  const [row] = await db
    .select({ baseUrl: gitConnections.baseUrl })
    .from(gitConnections)
    .where(eq(gitConnections.id, source.connectionId));
  return row === undefined ? {} : { connectionBaseUrl: row.baseUrl };
}

async function servicesOf(
  db: Queryable,
  sealer: Sealer,
  project: ProjectRow,
): Promise<Promotion["services"]> {
  const rows = await db
    .select()
    .from(projectServices)
    .where(eq(projectServices.projectId, project.id))
    .orderBy(asc(projectServices.id));
  return Promise.all(
    rows.map(async (row) => {
      const { name, image, build, ports, dependsOn, volumes, watchPaths, command, healthCheck, resources } =
        row;
      const text = await sealer.open("env", serviceEnvironmentPlace(row), row.sealedEnvironment);
      return {
        ...{ name, ports, dependsOn, volumes, watchPaths, command, healthCheck, resources },
        ...(image === null ? {} : { image }),
        ...(build === null ? {} : { build }),
        updateStrategy: row.updateStrategy ?? null,
        environment: JSON.parse(text) as Record<string, string>,
      };
    }),
  );
}

async function domainsOf(db: Queryable, project: ProjectRow): Promise<Promotion["domains"]> {
  const rows = await db
    .select()
    .from(domains)
    .where(eq(domains.projectId, project.id))
    .orderBy(asc(domains.id));
  return rows.map(({ hostname, port, targetPath, redirectTo }) => ({
    hostname,
    // An app has one; where only the running container tells it, the cloud learns it from its own.
    ...(port === null || port !== project.build.port ? {} : { port }),
    ...(targetPath === null ? {} : { targetPath }),
    ...(redirectTo === null ? {} : { redirectTo }),
  }));
}
