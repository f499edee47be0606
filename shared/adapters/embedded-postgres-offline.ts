/**
 * The embedded database for a tool (`slipway init`, `slipway token create`): through the live platform's own database
 * where one runs, else started for the moment under the guard, which a starting platform then waits for. Tools run the
 * migrations themselves either way; they take their own lock.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StartFailure } from "../domain/start-failure.ts";
import type { Log } from "../ports/log.ts";
import { openDataFolder } from "./data-folder.ts";
import { startEmbeddedPostgres } from "./embedded-postgres.ts";
import { databaseName, findSocketDirectory, socketUrl } from "./embedded-postgres-layout.ts";
import { probe } from "./embedded-postgres-probe.ts";

export interface OfflineDatabase {
  readonly url: string;
  /** Stops the database again when it was started for this. */
  close(): Promise<void>;
}

export interface ConnectOfflineOptions {
  log: Log;
  /** For a platform that is just starting or stopping. Default 30 s. */
  waitMs?: number;
}

export async function connectOffline(
  dataFolder: string,
  options: ConnectOfflineOptions,
): Promise<OfflineDatabase> {
  const endMs = Date.now() + (options.waitMs ?? 30_000);
  for (;;) {
    const attempt = await startForTheMoment(dataFolder, options.log);
    if (!(attempt instanceof StartFailure)) return attempt;
    const socketDirectory = await findSocketDirectory(dataFolder);
    if (socketDirectory !== undefined && (await probe(socketDirectory, 2_000, databaseName)) === "ready") {
      return { url: socketUrl(socketDirectory), close: async () => undefined };
    }
    if (Date.now() >= endMs) throw attempt;
    await sleep(100);
  }
}

/** The refusal as a value while another process holds the folder. */
async function startForTheMoment(dataFolder: string, log: Log): Promise<OfflineDatabase | StartFailure> {
  const folder = await openDataFolder(dataFolder, { purpose: "tool" }).catch((error: unknown) => {
    if (error instanceof StartFailure && error.code === "data_folder_in_use") return error;
    throw error;
  });
  if (folder instanceof StartFailure) return folder;
  try {
    const database = await startEmbeddedPostgres({ folder, log });
    return {
      url: database.url,
      async close() {
        await database.stop().finally(() => folder.release());
      },
    };
  } catch (error) {
    folder.release();
    throw error;
  }
}
