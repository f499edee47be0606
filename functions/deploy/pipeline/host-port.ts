/**
 * The loopback port of a container on its server, chosen by the database: unique there among all deployments that hold
 * one, and so the same after every reboot. Rejected: letting the engine choose (another port after each restart).
 */
import { eq, sql } from "drizzle-orm";
import type { Transaction } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { DeployFailure } from "../failure.ts";

const firstHostPort = 20_000;
const lastHostPort = 29_999;

/** Gives the deployment the lowest free port that is not in use there either. Throws `DeployFailure("no_port_left")`. */
export async function takeHostPort(
  tx: Transaction,
  deployment: { id: string; serverId: string },
  inUse: readonly number[] = [],
): Promise<number> {
  const { id, serverId } = deployment;
  await rowsOf(
    tx,
    sql`select pg_advisory_xact_lock(hashtextextended('host ports of ' || ${serverId}::text, 0))`,
  );
  const [free] = await rowsOf<{ port: number }>(
    tx,
    sql`
      select port from generate_series(${firstHostPort}::int, ${lastHostPort}::int) as port
      where not exists (select from deployments where server_id = ${serverId} and host_port = port and id <> ${id})
        and port <> all(${sql.param([...inUse])}::int[])
      order by port limit 1`,
  );
  if (free === undefined) {
    throw new DeployFailure("no_port_left", "All ports for containers on this server are taken.");
  }
  await tx.update(deployments).set({ hostPort: free.port }).where(eq(deployments.id, id));
  return free.port;
}
