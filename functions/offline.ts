/**
 * Composition root of the tools that work without a running platform: use cases of the platform directly on the
 * database, embedded or by `DATABASE_URL`. Who may read the data folder or the database owns the instance, so there is
 * no other check. Throws `StartFailure` or `Refusal`; the CLI prints their message and chooses the exit code.
 */
import { connectOffline } from "../shared/adapters/embedded-postgres-offline.ts";
import { openLog } from "../shared/adapters/pino-log.ts";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { migrateDatabase } from "../shared/adapters/postgres-migrate.ts";
import type { Database } from "../shared/db/database.ts";
import type { Log } from "../shared/ports/log.ts";
import { readConfiguration } from "./configuration.ts";
import {
  type FirstOrganization,
  type InitializedOrganization,
  initOrganization,
} from "./platform/first-organization.ts";
import { createOfflineToken, type OfflineToken } from "./platform/offline-token.ts";

export interface OfflineOptions {
  dataFolder: string;
  /** Undefined: the embedded database of the data folder. */
  databaseUrl: string | undefined;
  log: Log;
}

/** The data folder or database that a platform with this environment would use. Logs errors alone, to stderr. */
export function offlineOptions(environment: Readonly<Record<string, string | undefined>>): OfflineOptions {
  const { dataFolder, databaseUrl } = readConfiguration(environment, {
    isRoot: process.getuid?.() === 0,
    workingDirectory: process.cwd(),
  });
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

async function withDatabase<T>(options: OfflineOptions, work: (db: Database) => Promise<T>): Promise<T> {
  const { dataFolder, databaseUrl, log } = options;
  const embedded = databaseUrl === undefined ? await connectOffline(dataFolder, { log }) : undefined;
  const url = embedded?.url ?? databaseUrl ?? "";
  try {
    await migrateDatabase(url);
    const opened = openDatabase({ url, log, max: 2 });
    return await work(opened.db).finally(() => opened.close());
  } finally {
    await embedded?.close();
  }
}
