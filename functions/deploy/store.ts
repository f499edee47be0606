/** Rows of deployments as this module reads and makes them. A deployment is two rows: its operation and what only it has. */
import { and, desc, eq, isNotNull, or, type SQL } from "drizzle-orm";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { behindCursor, type PageRequest } from "../../shared/db/page.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import type { DeploymentTrigger } from "../../shared/domain/deployment.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { AskedSettings } from "../../shared/domain/project.ts";
import { insertOperation } from "../../shared/operations/create.ts";
import { readLastEvents } from "../../shared/operations/event-log.ts";
import type { DeploymentConfig } from "./snapshot.ts";

export const deploymentKindName = "deployment";

export interface NewDeployment {
  organizationId: string;
  projectId: string;
  serverId: string;
  trigger: DeploymentTrigger;
  branch: string | null;
  /** Where the branch was before. */
  beforeSha?: string | null;
  commitSha?: string | null;
  commitMessage?: string | null;
  /** The stored upload that it is built from. */
  uploadDigest?: string | null;
  asked?: AskedSettings | null;
  createdBy: string | null;
  /** What a rollback takes over from the deployment it restores. */
  restored?: {
    rollbackOf: string;
    mode: "image" | "rebuild";
    imageId: string | null;
    containerPort: number | null;
    config: DeploymentConfig;
    sealedEnv: string | null;
  };
}

/** Inserts operation and deployment; the runner hears of it when the transaction commits. */
export async function insertDeployment(
  tx: Transaction,
  deployment: NewDeployment,
  id: string = newId("deployment"),
): Promise<string> {
  const { createdBy, restored, ...row } = deployment;
  await insertOperation(tx, {
    id,
    organizationId: row.organizationId,
    kind: deploymentKindName,
    subjectId: row.projectId,
    state: "queued",
    createdBy,
  });
  const { config, ...taken } = restored ?? { config: null };
  await tx
    .insert(deployments)
    .values({ id, ...row, ...taken, config: config === null ? null : { ...config } });
  return id;
}

const columns = {
  id: deployments.id,
  organizationId: deployments.organizationId,
  projectId: deployments.projectId,
  serverId: deployments.serverId,
  status: operations.state,
  final: operations.final,
  trigger: deployments.trigger,
  branch: deployments.branch,
  commitSha: deployments.commitSha,
  commitMessage: deployments.commitMessage,
  urls: deployments.urls,
  activeDeploymentId: projects.activeDeploymentId,
  pinned: deployments.pinned,
  artifact: deployments.artifact,
  mode: deployments.mode,
  progress: operations.progress,
  createdAt: operations.createdAt,
  startedAt: operations.startedAt,
  finishedAt: operations.finishedAt,
  error: operations.error,
  rollbackOf: deployments.rollbackOf,
  deliveryId: deployments.deliveryId,
  createdBy: operations.createdBy,
};

export type DeploymentView = Awaited<ReturnType<typeof viewsWhere>>[number];

function viewsWhere(db: Queryable, where: SQL | undefined, limit: number) {
  return db
    .select(columns)
    .from(deployments)
    .innerJoin(operations, eq(operations.id, deployments.id))
    .innerJoin(projects, eq(projects.id, deployments.projectId))
    .where(where)
    .orderBy(desc(deployments.id))
    .limit(limit);
}

/** One row more than a page, newest first. `only` comes from the tenancy door, never from a request. */
export async function listViews(
  db: Queryable,
  only: { organizationId: string; projectId?: string | undefined; seen: SQL | undefined },
  page: PageRequest,
): Promise<DeploymentView[]> {
  const where = and(
    eq(deployments.organizationId, only.organizationId),
    only.projectId === undefined ? undefined : eq(deployments.projectId, only.projectId),
    only.seen,
    behindCursor(deployments.id, page),
  );
  return viewsWhere(db, where, page.limit + 1);
}

/** Of an id that has come through the tenancy door, or that the module made itself. */
export async function viewOf(db: Queryable, id: string): Promise<DeploymentView> {
  const [view] = await viewsWhere(db, eq(deployments.id, id), 1);
  if (view === undefined) throw new Error(`deployment ${id} has no row`);
  return view;
}

export interface LatestDeployment {
  branch: string | null;
  commitSha: string | null;
  commitMessage: string | null;
  uploadDigest: string | null;
  asked: AskedSettings | null;
}

/** What the project's latest deployment with a known source was built from, or null. */
export async function latestOf(db: Queryable, projectId: string): Promise<LatestDeployment | null> {
  const [row] = await db
    .select({
      branch: deployments.branch,
      commitSha: deployments.commitSha,
      commitMessage: deployments.commitMessage,
      uploadDigest: deployments.uploadDigest,
      asked: deployments.asked,
    })
    .from(deployments)
    .where(
      and(
        eq(deployments.projectId, projectId),
        or(isNotNull(deployments.commitSha), isNotNull(deployments.uploadDigest)),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(1);
  return row ?? null;
}

export async function serverOf(db: Queryable, serverId: string) {
  const [server] = await db.select().from(servers).where(eq(servers.id, serverId));
  return server;
}

export type DeploymentRow = typeof deployments.$inferSelect;

/** The row with snapshot and sealed environment, for the story alone. */
export async function deploymentRow(db: Queryable, id: string): Promise<DeploymentRow> {
  const [row] = await db.select().from(deployments).where(eq(deployments.id, id));
  if (row === undefined) throw new Error(`deployment ${id} has no row`);
  return row;
}

/** The last log lines of a phase as they are stored, for the error of what failed. */
export async function lastLines(db: Queryable, id: string, phase: string, count = 20): Promise<string[]> {
  // What the platform says itself stands among them and is left out.
  const events = await readLastEvents(db, { operationId: id, type: "log", phase, limit: 2 * count });
  const said = events.filter(({ data }) => data["stream"] === "stdout");
  return said.slice(-count).map(({ data }) => String(data["line"]));
}
