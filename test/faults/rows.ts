/** What the database says about a deployment, asked past every module; waits through a database that is away. */
import { eq, sql } from "drizzle-orm";
import type { Database } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { operationEvents, operations } from "../../shared/db/operation-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { until } from "./until.ts";

const settledMs = 150_000;

export async function operationRow(db: Database, id: string) {
  const [row] = await db.select().from(operations).where(eq(operations.id, id));
  if (row === undefined) throw new Error(`no operation ${id}`);
  return row;
}

/** Resolves when it is over; names its state where it is not. */
export async function settled(db: Database, id: string): Promise<void> {
  const state = async () => {
    const row = await operationRow(db, id).catch(() => null);
    return row?.final === true ? "over" : (row?.state ?? "the database is away");
  };
  await until(state, "over", settledMs);
}

export async function eventsOf(db: Database, id: string) {
  return db
    .select()
    .from(operationEvents)
    .where(eq(operationEvents.operationId, id))
    .orderBy(operationEvents.seq);
}

/** Its rows, and that of its project. */
export async function rowsOfDeployment(db: Database, id: string) {
  const [row] = await db
    .select({ deployment: deployments, operation: operations, project: projects })
    .from(deployments)
    .innerJoin(operations, eq(operations.id, deployments.id))
    .innerJoin(projects, eq(projects.id, deployments.projectId))
    .where(eq(deployments.id, id));
  if (row === undefined) throw new Error(`no deployment ${id}`);
  return row;
}

/** All deployments of a project, oldest first, with their operations. */
export async function deploymentsOf(db: Database, projectId: string) {
  return db
    .select({ deployment: deployments, operation: operations })
    .from(deployments)
    .innerJoin(operations, eq(operations.id, deployments.id))
    .where(eq(deployments.projectId, projectId))
    .orderBy(deployments.id);
}

/** Operations of whatever kind that are not over. */
export async function openOperations(db: Database): Promise<string[]> {
  const rows = await db
    .select({ id: operations.id, kind: operations.kind, state: operations.state })
    .from(operations)
    .where(sql`not final`);
  return rows.map(({ id, kind, state }) => `${kind} ${id} ${state}`);
}
