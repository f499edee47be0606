/**
 * Brings the database to the newest schema. Drizzle's migrator takes no lock (four at once: three fail), so that all of
 * it runs on one connection under an advisory lock. A database that a newer version has migrated is left alone: what an
 * older one would write there, nobody has tried. Statements have no time limit here, waiting for locks has one.
 * A database that starts or recovers beside us is waited for: a power cut ends both, and ours is up first.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { edgeRole, grantsOfEdge } from "../db/edge-role.ts";
import { StartFailure } from "../domain/start-failure.ts";
import { isDatabaseAway } from "../operations/database-away.ts";
import type { Log } from "../ports/log.ts";
import { directUrl } from "./postgres.ts";

const migrationsFolder = fileURLToPath(new URL("../db/migrations", import.meta.url));
/** Any number that nothing else in the product locks. */
const lockKey = 0x511b_4a7;
/** Postgres 15 (docs/operating.md). */
const oldestServer = 150_000;

/** A large database replays its log for as long as minutes; who supervises us would start us again as often. */
const awayMs = 120_000;
const againMs = 500;

export type MigratedDatabase = ReturnType<typeof drizzle>;

export interface MigrateOptions {
  log: Log;
  /** How long a database that is away is waited for, in milliseconds. Default two minutes. */
  waitMs?: number;
  /** Done under the same lock before the migrations, each time they are tried. */
  before?: (db: MigratedDatabase) => Promise<void>;
  /** Ends the wait, with its reason. */
  signal?: AbortSignal;
}

/**
 * A migration is a transaction, so that one that broke off with the database is run again. Throws `database_unavailable`
 * and `database_too_old`.
 */
export async function migrateDatabase(url: string, options: MigrateOptions): Promise<void> {
  const { log, waitMs = awayMs, signal, before } = options;
  const endMs = performance.now() + waitMs;
  let told: string | undefined;
  for (;;) {
    try {
      return await migrateOnce(directUrl(url), before);
    } catch (error) {
      if (!isDatabaseAway(error, "database")) throw error;
      const reason = sentenceOf(error);
      if (performance.now() >= endMs) {
        const hint = "Is DATABASE_URL right, and does the database run?";
        throw new StartFailure("database_unavailable", `The database does not answer: ${reason}. ${hint}`);
      }
      if (told !== reason) log.warn({ reason, waitMs }, "waiting for the database");
      told = reason;
    }
    await sleep(againMs, undefined, { ...(signal && { signal }) }).catch(() => signal?.throwIfAborted());
  }
}

/** Of the driver. Refused at both addresses of a name, it has a code alone. */
function sentenceOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === "" && "code" in cause ? String(cause.code) : cause.message;
}

/** `url` must reach the database itself, not a pooler in transaction mode: the lock belongs to a session. */
async function migrateOnce(url: string, before: MigrateOptions["before"]): Promise<void> {
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
    await before?.(db);
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

async function compare(db: MigratedDatabase): Promise<{ pending: number; newer: boolean }> {
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
async function grantToEdge(db: MigratedDatabase): Promise<void> {
  const { rows } = await db.execute(sql`SELECT FROM pg_roles WHERE rolname = ${edgeRole}`);
  if (rows.length === 0) return;
  await db.transaction(async (tx) => {
    for (const each of grantsOfEdge()) await tx.execute(sql.raw(each));
  });
}

async function requireServer(db: MigratedDatabase): Promise<void> {
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
