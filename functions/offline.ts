/**
 * Composition root of the tools that work without a running platform: use cases of the platform directly on the
 * database, embedded or by `DATABASE_URL`. Who may read the data folder or the database owns the instance, so there is
 * no other check. Throws `StartFailure` or `Refusal`; the CLI prints their message and chooses the exit code.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findHolder } from "../shared/adapters/data-folder.ts";
import { connectOffline } from "../shared/adapters/embedded-postgres-offline.ts";
import { openLog } from "../shared/adapters/pino-log.ts";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { findMigrations, migrateDatabase } from "../shared/adapters/postgres-migrate.ts";
import { type Finding, fail, ok } from "../shared/contract/finding.ts";
import type { Database } from "../shared/db/database.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";
import type { Log } from "../shared/ports/log.ts";
import { type Configuration, listeningAt, readConfiguration } from "./configuration.ts";
import { checkDatabase } from "./platform/doctor/check-database.ts";
import { checkDataFolder, checkNode } from "./platform/doctor/check-machine.ts";
import { checkPort, checkProcess } from "./platform/doctor/check-running.ts";
import {
  type FirstOrganization,
  type InitializedOrganization,
  initOrganization,
} from "./platform/first-organization.ts";
import { createOfflineToken, type OfflineToken } from "./platform/offline-token.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface OfflineOptions {
  dataFolder: string;
  /** Undefined: the embedded database of the data folder. */
  databaseUrl: string | undefined;
  log: Log;
}

/** The data folder or database that a platform with this environment would use. Logs errors alone, to stderr. */
export function offlineOptions(environment: Environment): OfflineOptions {
  const { dataFolder, databaseUrl } = readConfiguration(environment, surroundings());
  return { dataFolder, databaseUrl, log: openLog({ level: "error" }) };
}

/** `slipway init`. A `Refusal` with the code `already_initialized` means that nothing was changed. */
export function initOffline(
  options: OfflineOptions,
  wanted: FirstOrganization,
): Promise<InitializedOrganization> {
  return withDatabase(options, (db) => initOrganization(db, wanted));
}

/** `slipway token create`: a token of the primary owner. */
export function createTokenOffline(
  options: OfflineOptions,
  wanted: OfflineToken,
): Promise<{ id: string; token: string }> {
  return withDatabase(options, (db) => createOfflineToken(db, wanted, Date.now()));
}

/** `slipway doctor`, without the API: changes nothing, not even a database that needs migrations. */
export async function diagnoseOffline(environment: Environment): Promise<Finding[]> {
  let configuration: Configuration;
  try {
    configuration = readConfiguration(environment, surroundings());
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    return [checkNode(process.versions.node), fail("settings", error.message, "Correct the variable.")];
  }
  const { dataFolder, databaseUrl } = configuration;
  const folder = await checkDataFolder(dataFolder, process.getuid?.() ?? 0);
  const holder = await findHolder(dataFolder);
  const pid = holder?.purpose === "platform" ? holder.pid : undefined;
  const first = [
    checkNode(process.versions.node),
    ...folder.findings,
    checkProcess(pid),
    await checkPort(listeningAt(configuration), pid !== undefined),
  ];
  const hasDatabase =
    databaseUrl !== undefined || (folder.usable && existsSync(join(dataFolder, "postgres/data")));
  if (!hasDatabase) return first;
  return [
    ...first,
    ...(await diagnoseDatabase(
      { dataFolder, databaseUrl, log: openLog({ level: "silent" }) },
      { running: pid !== undefined, poolServers: configuration.pool.serverIds },
    )),
  ];
}

async function diagnoseDatabase(
  options: OfflineOptions,
  around: { running: boolean; poolServers: readonly string[] },
): Promise<Finding[]> {
  try {
    return await withUrl(options, async (url) => {
      const { pending, newer } = await findMigrations(url);
      const schema = schemaFinding(pending, newer);
      if (schema.status === "fail") return [schema];
      const opened = openDatabase({ url, log: options.log, max: 2 });
      const findings = await checkDatabase(opened.db, Date.now, around).finally(() => opened.close());
      return [schema, ...findings];
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const hint = "Is the address right, and does the database run? DATABASE_URL wins over the data folder.";
    return [fail("database", `The database does not answer: ${reason}`, hint)];
  }
}

function schemaFinding(pending: number, newer: boolean): Finding {
  if (newer) {
    const hint = "Run the version that made it: an older one does not know its tables.";
    return fail("database", "The database was made by a newer version of Slipway.", hint);
  }
  if (pending === 0) return ok("database", "It answers, and its tables are those of this version.");
  const hint = "The next start of the platform runs them; a running one is of an older version.";
  return fail("database", `${pending} migrations are missing.`, hint);
}

function withDatabase<T>(options: OfflineOptions, work: (db: Database) => Promise<T>): Promise<T> {
  return withUrl(options, async (url) => {
    await migrateDatabase(url, { log: options.log, waitMs: 0 });
    const opened = openDatabase({ url, log: options.log, max: 2 });
    return await work(opened.db).finally(() => opened.close());
  });
}

async function withUrl<T>(options: OfflineOptions, work: (url: string) => Promise<T>): Promise<T> {
  const { dataFolder, databaseUrl, log } = options;
  const embedded = databaseUrl === undefined ? await connectOffline(dataFolder, { log }) : undefined;
  try {
    return await work(embedded?.url ?? databaseUrl ?? "");
  } finally {
    await embedded?.close();
  }
}

function surroundings() {
  return { isRoot: process.getuid?.() === 0, workingDirectory: process.cwd() };
}
