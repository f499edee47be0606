/**
 * Brings the database to the newest schema. Drizzle's migrator takes no lock (four at once: three fail), so that all of
 * it runs on one connection under an advisory lock. A database that a newer version has migrated is left alone: what an
 * older one would write there, nobody has tried. Statements have no time limit here, waiting for locks has one.
 */

import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { edgeRole, grantsOfEdge } from "../db/edge-role.ts";
import { StartFailure } from "../domain/start-failure.ts";

const migrationsFolder = fileURLToPath(new URL("../db/migrations", import.meta.url));
/** Any number that nothing else in the product locks. */
const lockKey = 0x511b_4a7;
/** Postgres 15 (docs/operating.md). */
const oldestServer = 150_000;

/** `url` must reach the database itself, not a pooler in transaction mode: the lock belongs to a session. */
export async function migrateDatabase(url: string): Promise<void> {
  const db = drizzle({
    connection: {
      connectionString: url,
      max: 1,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: 10_000,
      lock_timeout: 60_000,
      application_name: "slipway-migrate",
    },
  });
  db.$client.on("error", () => undefined);
  try {
    await requireServer(db);
    await db.execute(sql`SELECT pg_advisory_lock(${lockKey})`);
    if ((await compare(db)).newer) {
      throw new StartFailure(
        "database_newer",
        "The database was made by a newer version of Slipway. Start that version, or restore the backup from before the upgrade (docs/operating.md).",
      );
    }
    await migrate(db, { migrationsFolder });
    await grantToEdge(db);
  } finally {
    await db.$client.end();
  }
}

/** Migrations that the database does not have yet, and whether it has some that this version does not know. Changes nothing. */
export async function findMigrations(url: string): Promise<{ pending: number; newer: boolean }> {
  const db = drizzle({ connection: { connectionString: url, max: 1, connectionTimeoutMillis: 10_000 } });
  db.$client.on("error", () => undefined);
  try {
    return await compare(db);
  } finally {
    await db.$client.end();
  }
}

async function compare(db: ReturnType<typeof drizzle>): Promise<{ pending: number; newer: boolean }> {
  const known = readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis);
  const table = await db.execute<{ found: boolean }>(
    sql`SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS found`,
  );
  if (table.rows[0]?.found !== true) return { pending: known.length, newer: false };
  const { rows } = await db.execute<{ last: number }>(
    sql`SELECT coalesce(max(created_at), 0)::float8 AS last FROM drizzle.__drizzle_migrations`,
  );
  const last = Number(rows[0]?.last);
  return { pending: known.filter((each) => each > last).length, newer: last > Math.max(...known) };
}

/** Where the edge has a role of its own: a column that a migration brought is no use to it without. */
async function grantToEdge(db: ReturnType<typeof drizzle>): Promise<void> {
  const { rows } = await db.execute(sql`SELECT FROM pg_roles WHERE rolname = ${edgeRole}`);
  if (rows.length === 0) return;
  await db.transaction(async (tx) => {
    for (const each of grantsOfEdge()) await tx.execute(sql.raw(each));
  });
}

async function requireServer(db: ReturnType<typeof drizzle>): Promise<void> {
  const { rows } = await db.execute<{ version: string }>(
    sql`SELECT current_setting('server_version_num') AS version`,
  );
  const version = Number(rows[0]?.version);
  if (version >= oldestServer) return;
  throw new StartFailure(
    "database_too_old",
    `The database is Postgres ${Math.floor(version / 10_000)}; 15 or later is needed.`,
  );
}
