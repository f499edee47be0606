/**
 * One embedded Postgres for all test files of a run, with a migrated template that every file copies. The real thing,
 * started by the product's own adapter; so the suite also proves that adapter, as root and as another user.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import type { TestProject } from "vitest/node";
import { openDataFolder } from "../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../shared/adapters/embedded-postgres.ts";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { migrateDatabase } from "../shared/adapters/postgres-migrate.ts";
import { edgeRole } from "../shared/db/edge-role.ts";
import { endWithUs } from "./end-with-us.ts";
import { silentLog } from "./silent-log.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Of the database that test databases are made from; see `database.ts`. */
    postgresUrl: string;
  }
}

export const templateName = "slipway_template";

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), "slipway-test-"));
  // As root the server runs as another user, who must be able to pass through.
  await chmod(home, 0o755);
  const folder = await openDataFolder(join(home, "data"), { purpose: "platform" });
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  const watch = endWithUs(home);
  await makeTemplate(postgres.url);
  project.provide("postgresUrl", postgres.url);
  return async () => {
    await postgres.stop();
    watch.done();
    folder.release();
    await rm(home, { recursive: true, force: true });
  };
}

async function makeTemplate(url: string): Promise<void> {
  const { db, close } = openDatabase({ url, log: silentLog, max: 1 });
  await db.execute(sql.raw(`create database ${templateName}`));
  await db.execute(sql.raw(`create role ${edgeRole} login`));
  await migrateDatabase(withDatabase(url, templateName), { log: silentLog });
  await db.execute(sql.raw(`alter database ${templateName} with is_template true allow_connections false`));
  await close();
}

/** The same server, another database. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
