/** What the database remembers that a person should look at: time, deliveries, operations and servers. */
import { sql } from "drizzle-orm";
import { type Finding, fail, ok, warn } from "../../../shared/contract/finding.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { firstIdAt } from "../../../shared/domain/identifier.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { hasPool, lookAtPool } from "../pool.ts";

/** Tokens between edge and modules hold for 60 s, so that such a difference stops everything. */
const mostSkewMs = 60_000;
const noticedSkewMs = 5_000;
const dayMs = 24 * 3_600_000;

/** `running`: somebody should be at work on open operations. `poolServers`: SLIPWAY_POOL_SERVERS. */
export async function checkDatabase(
  db: Queryable,
  nowMs: () => number,
  { running, poolServers }: { running: boolean; poolServers: readonly string[] },
): Promise<Finding[]> {
  return [
    await clockFinding(db, nowMs),
    await deliveriesFinding(db, nowMs()),
    await operationsFinding(db, running),
    await serversFinding(db),
    ...(hasPool(poolServers) ? [await poolFinding(db, poolServers)] : []),
  ];
}

async function clockFinding(db: Queryable, nowMs: () => number): Promise<Finding> {
  const beforeMs = nowMs();
  const [row] = await rowsOf<{ ms: number }>(
    db,
    sql`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`,
  );
  const skewMs = Math.abs((row?.ms ?? 0) - (beforeMs + nowMs()) / 2);
  const message = `The clocks of this machine and of the database differ by ${(skewMs / 1000).toFixed(1)} s.`;
  const hint = "Let both keep time by NTP (timedatectl says whether they do).";
  if (skewMs > mostSkewMs) return fail("clock", message, hint);
  return skewMs > noticedSkewMs ? warn("clock", message, hint) : ok("clock", message);
}

async function deliveriesFinding(db: Queryable, nowMs: number): Promise<Finding> {
  const [row] = await rowsOf<{ all: number; failed: number; lost: number }>(
    db,
    sql`
      select count(*)::int as all, count(*) filter (where status = 'failed')::int as failed,
        count(*) filter (where organization_id is null)::int as lost
      from webhook_deliveries where id >= ${firstIdAt("delivery", nowMs - dayMs)}`,
  );
  const { all, failed, lost } = row ?? { all: 0, failed: 0, lost: 0 };
  if (failed === 0 && lost === 0) return ok("deliveries", `${all} in the last 24 hours, none failed.`);
  return warn(
    "deliveries",
    `Of ${all} deliveries in the last 24 hours ${failed} failed and ${lost} matched no project.`,
    "Failed ones are tried again by themselves. For one without a project compare its repository with those of the projects.",
  );
}

async function operationsFinding(db: Queryable, running: boolean): Promise<Finding> {
  const stuck = await rowsOf<{ id: string }>(
    db,
    sql`
      select id from operations
      where not final and in_flight and (run_after is null or run_after <= now())
        and coalesce(lease_until, started_at) < now() - interval '2 minutes'
      order by id limit 20`,
  );
  const abandoned = await rowsOf<{ id: string }>(
    db,
    sql`
      select id from operations
      where final and error ->> 'code' = 'abandoned' and finished_at > now() - interval '24 hours'
      order by id limit 20`,
  );
  if (stuck.length > 0) {
    const message = `In flight without anyone at work on them: ${named(stuck)}.`;
    if (!running) return warn("operations", message, "The next start of the platform takes them up.");
    return fail("operations", message, "Look into the platform's log for their ids, then start it again.");
  }
  if (abandoned.length > 0) {
    return warn(
      "operations",
      `Given up in the last 24 hours: ${named(abandoned)}.`,
      "The platform's log has the reason under their ids. Start them again when it is gone.",
    );
  }
  return ok("operations", "None is stuck, and none was given up in the last 24 hours.");
}

async function serversFinding(db: Queryable): Promise<Finding> {
  const rows = await rowsOf<{ name: string; reachable: boolean | null }>(
    db,
    sql`
      select name, (last_check ->> 'ok')::boolean as reachable from servers
      where deleted_at is null order by name limit 1000`,
  );
  const lost = rows.filter(({ reachable }) => reachable === false);
  if (lost.length === 0) return ok("servers", `${rows.length} known, none failed its last check.`);
  const names = lost.slice(0, 20).map(({ name }) => name);
  return warn(
    "servers",
    `Failed at their last check: ${names.join(", ")}.`,
    'Run "slipway server check NAME": it says why.',
  );
}

async function poolFinding(db: Queryable, poolServers: readonly string[]): Promise<Finding> {
  const looked = await lookAtPool(db, poolServers);
  const bad = looked.flatMap(({ id, problem }) => (problem === null ? [] : [`${id}: ${problem}`]));
  if (bad.length === 0) return ok("pool", `${looked.length} servers take projects.`);
  const say = bad.length === looked.length ? fail : warn;
  const hint = "Correct SLIPWAY_POOL_SERVERS, or bootstrap the server.";
  return say("pool", `Of SLIPWAY_POOL_SERVERS take no projects: ${bad.join("; ")}.`, hint);
}

function named(rows: readonly { id: string }[]): string {
  return rows.map(({ id }) => id).join(", ");
}
