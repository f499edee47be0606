/**
 * The whole platform as a process of its own on a given database, so that a test can kill it, stop it and run two. What
 * differs from `npm start`: the database is the test's, and so is the length of a lease. Reads one line of JSON; the end
 * of its input is the end of whoever started it, and so of itself.
 */
import "../../functions/quick-imports.ts";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { readConfiguration } from "../../functions/configuration.ts";
import { loadInstanceSecrets } from "../../shared/adapters/instance-secrets.ts";
import { openLog } from "../../shared/adapters/pino-log.ts";
import type { LeaseTimes } from "../../shared/operations/lease-times.ts";

export interface ControllerInput {
  databaseUrl: string;
  /** Secrets and uploads; shared by all controllers of a test. */
  dataFolder: string;
  port: number;
  lease: LeaseTimes | null;
}

const lines = createInterface({ input: process.stdin });
const [line] = (await once(lines, "line")) as [string];
lines.once("close", () => process.exit(1));
const { databaseUrl, dataFolder, port, lease } = JSON.parse(line) as ControllerInput;

const configuration = readConfiguration(
  { PORT: String(port), SLIPWAY_DATA_DIR: dataFolder, DATABASE_URL: databaseUrl },
  { isRoot: false, workingDirectory: dataFolder },
);
const log = openLog({ level: "info" });
const secrets = await loadInstanceSecrets({ path: dataFolder, release: () => undefined });
const { startInOneProcess } = await import("../../functions/one-process.ts");
const platform = await startInOneProcess({
  configuration,
  databaseUrl,
  aloneOnDatabase: false,
  secrets,
  version: "test",
  log,
  ...(lease === null ? {} : { lease }),
});
process.once("SIGTERM", async () => {
  await platform.close();
  process.exit(0);
});
