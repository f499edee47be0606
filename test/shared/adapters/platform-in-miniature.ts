/**
 * A process that owns a data folder and its database as the platform does, for tests that kill it. Prints one JSON
 * line when it is ready or refused; SIGTERM ends it cleanly.
 */
import { openDataFolder } from "../../../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../../../shared/adapters/embedded-postgres.ts";
import { openLog } from "../../../shared/adapters/pino-log.ts";
import { StartFailure } from "../../../shared/domain/start-failure.ts";

const ended = new Promise((resolve) => process.once("SIGTERM", resolve));
const alive = setInterval(() => undefined, 60_000);
try {
  const startMs = performance.now();
  const folder = await openDataFolder(process.argv[2] ?? "", { purpose: "platform" });
  const database = await startEmbeddedPostgres({ folder, log: openLog({ level: "warn" }) });
  const readyMs = Math.round(performance.now() - startMs);
  say({
    pid: process.pid,
    url: database.url,
    adopted: database.adopted,
    databasePid: database.pid(),
    readyMs,
  });
  await ended;
  await database.stop();
  folder.release();
} catch (error) {
  if (!(error instanceof StartFailure)) throw error;
  say({ refused: error.code, message: error.message });
} finally {
  clearInterval(alive);
}

function say(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
