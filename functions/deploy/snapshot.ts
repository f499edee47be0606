/**
 * Everything a deployment is built and released with, taken once when it starts: a change of the project afterwards
 * reaches the next deployment, never this one, and a rollback runs with the settings of then (field notes: environment
 * lost or stale after a redeploy). The environment lies beside it, sealed as one value bound to the deployment's row.
 */
import { eq } from "drizzle-orm";
import type { Sealer } from "../../shared/crypto/seal.ts";
import type { Queryable } from "../../shared/db/database.ts";
import { projectEnv, projects } from "../../shared/db/project-tables.ts";
import type { BuildStrategy } from "../../shared/domain/deployment.ts";
import type {
  AskedSettings,
  BuildSettings,
  HealthCheck,
  ProjectSource,
  Resources,
} from "../../shared/domain/project.ts";
import { envValuePlace, type SealedPlace } from "../../shared/domain/sealed-place.ts";
import { DeployFailure } from "./failure.ts";

export interface DeploymentConfig {
  source: ProjectSource;
  rootDirectory: string | null;
  buildStrategy: BuildStrategy;
  build: BuildSettings;
  healthCheck: HealthCheck;
  updateStrategy: "rolling" | "recreate" | null;
  resources: Resources;
  /** `name:/path[:ro]`; absent in what was taken before there were any. */
  volumes?: string[];
  /** Decided by the build plan: whether the container gets an init as process 1. */
  init?: boolean;
}

export type Environment = Readonly<Record<string, string>>;

interface Owned {
  id: string;
  organizationId: string;
}

export interface Snapshot {
  config: DeploymentConfig;
  sealedEnv: string;
  environment: Environment;
}

/** Reads project and environment of now. Throws `DeployFailure("project_deleted")`. */
export async function takeSnapshot(
  db: Queryable,
  sealer: Sealer,
  deployment: Owned & { projectId: string; uploadDigest: string | null; asked: AskedSettings | null },
): Promise<Snapshot> {
  const [project] = await db
    .select({
      id: projects.id,
      organizationId: projects.organizationId,
      source: projects.source,
      rootDirectory: projects.rootDirectory,
      buildStrategy: projects.buildStrategy,
      build: projects.build,
      healthCheck: projects.healthCheck,
      updateStrategy: projects.updateStrategy,
      resources: projects.resources,
      volumes: projects.volumes,
      deletingAt: projects.deletingAt,
      deletedAt: projects.deletedAt,
    })
    .from(projects)
    .where(eq(projects.id, deployment.projectId));
  if (project === undefined || project.deletedAt !== null || project.deletingAt !== null) {
    throw new DeployFailure("project_deleted", "The project has been deleted.");
  }
  const { id, organizationId, deletedAt, deletingAt, buildStrategy, ...rest } = withAsked(
    project,
    deployment,
  );
  const environment = await openProjectEnvironment(db, sealer, { id, organizationId });
  return {
    config: { ...rest, buildStrategy: buildStrategy as BuildStrategy },
    sealedEnv: await sealEnvironment(sealer, deployment, environment),
    environment,
  };
}

/** What was given for this deployment alone stands before what the project says. */
function withAsked<P extends { source: ProjectSource; buildStrategy: string; build: BuildSettings }>(
  project: P,
  { uploadDigest, asked }: { uploadDigest: string | null; asked: AskedSettings | null },
): P {
  const { buildStrategy = project.buildStrategy, port } = asked ?? {};
  const build = port === undefined ? project.build : { ...project.build, port };
  const source: ProjectSource = uploadDigest === null ? project.source : { kind: "upload" };
  return { ...project, buildStrategy, build, source };
}

export async function openProjectEnvironment(
  db: Queryable,
  sealer: Sealer,
  project: Owned,
): Promise<Environment> {
  const rows = await db
    .select({ key: projectEnv.key, sealedValue: projectEnv.sealedValue })
    .from(projectEnv)
    .where(eq(projectEnv.projectId, project.id))
    .orderBy(projectEnv.key);
  const entries = rows.map(
    async ({ key, sealedValue }) =>
      [key, await sealer.open("env", envValuePlace(project, key), sealedValue)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

export async function sealEnvironment(
  sealer: Sealer,
  deployment: Owned,
  environment: Environment,
): Promise<string> {
  return sealer.seal("env", environmentPlace(deployment), JSON.stringify(environment));
}

export async function openEnvironment(
  sealer: Sealer,
  deployment: Owned,
  sealedEnv: string | null,
): Promise<Environment> {
  if (sealedEnv === null) return {};
  return JSON.parse(await sealer.open("env", environmentPlace(deployment), sealedEnv)) as Environment;
}

function environmentPlace({ id, organizationId }: Owned): SealedPlace {
  return { organizationId, table: "deployments", column: "sealed_env", row: id };
}
