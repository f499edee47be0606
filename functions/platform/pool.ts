/**
 * The operator's pool: where a project without a server of its own organization goes (decisions/0014). The servers are
 * ordinary ones of the operator's organization, so no door of tenancy opens for the organizations whose projects they
 * carry: the project's row is the only thing that leads there. That a project is on the pool is therefore no column of
 * its own, which could be forgotten: it is a server of another organization.
 */
import { asc, eq, sql } from "drizzle-orm";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { serverHealth } from "../../shared/db/notification-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import type { Log } from "../../shared/ports/log.ts";

type ServerIds = readonly string[] | undefined;

export function hasPool(serverIds: ServerIds): serverIds is readonly string[] {
  return serverIds !== undefined && serverIds.length > 0;
}

/** The ready server with the fewest projects, held until the transaction ends. Throws `Refusal` where there is none. */
export async function placeOnPool(tx: Transaction, serverIds: ServerIds): Promise<string> {
  if (!hasPool(serverIds)) {
    throw invalid("body.serverId", "is missing: the id of the server that it will run on (GET /api/servers)");
  }
  for (const { id, problem } of await lookAtPool(tx, serverIds)) {
    if (problem !== null) continue;
    const [kept] = await tx
      .select({ deletedAt: servers.deletedAt })
      .from(servers)
      .where(eq(servers.id, id))
      .for("key share");
    if (kept?.deletedAt === null) return id;
  }
  throw new Refusal(
    "conflict",
    "pool_not_ready",
    "The pool of this cloud cannot take a project at the moment. Try again later, or add and bootstrap a server of your own and name it in `serverId`.",
  );
}

export interface PoolServer {
  id: string;
  /** Why it takes no projects, or null. */
  problem: string | null;
}

/** Those with the fewest projects first; an id without a row comes as well. */
export async function lookAtPool(db: Queryable, serverIds: readonly string[]): Promise<PoolServer[]> {
  const carried = sql<number>`(select count(*) from ${projects}
    where ${projects.serverId} = ${servers.id} and ${projects.deletedAt} is null)`;
  const rows = await db
    .select({
      id: servers.id,
      deletedAt: servers.deletedAt,
      bootstrappedAt: servers.bootstrappedAt,
      unreachable: serverHealth.unreachable,
    })
    .from(servers)
    .leftJoin(serverHealth, eq(serverHealth.serverId, servers.id))
    .where(sql`${servers.id} = any(${sql.param([...serverIds])}::text[])`)
    .orderBy(asc(carried), asc(servers.id));
  const unknown = serverIds.filter((id) => !rows.some((row) => row.id === id));
  return [
    ...rows.map(({ id, ...row }) => ({ id, problem: problemOf(row) })),
    ...unknown.map((id) => ({ id, problem: "there is no such server" })),
  ];
}

function problemOf(row: {
  deletedAt: Date | null;
  bootstrappedAt: Date | null;
  unreachable: boolean | null;
}): string | null {
  if (row.deletedAt !== null) return "it has been deleted";
  if (row.bootstrappedAt === null) return "it has not been bootstrapped";
  return row.unreachable === true ? "it does not answer" : null;
}

/** Whoever made a mistake in SLIPWAY_POOL_SERVERS finds it in the log, and the others in the pool go on. */
export async function tellOfPool(
  { db, log }: { db: Queryable; log: Log },
  serverIds: readonly string[],
): Promise<void> {
  for (const { id: serverId, problem } of await lookAtPool(db, serverIds)) {
    if (problem !== null)
      log.warn({ serverId, problem }, "a server of SLIPWAY_POOL_SERVERS takes no projects");
  }
}

/** Whether a project runs on a server that is not its organization's. */
export async function isPooled(
  db: Queryable,
  project: { serverId: string; organizationId: string },
): Promise<boolean> {
  const [server] = await db
    .select({ organizationId: servers.organizationId })
    .from(servers)
    .where(eq(servers.id, project.serverId));
  return server !== undefined && server.organizationId !== project.organizationId;
}
