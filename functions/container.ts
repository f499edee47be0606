/**
 * One part of the platform in a process of its own: `container.ts edge`, `platform`, `deploy` or `notify`, as containers and the
 * cloud run them. `container.ts set-up FOLDER` makes the secrets of a self-hosted instance once and brings the database
 * up to date. A missing or wrong setting ends the start with its name.
 */
import "./quick-imports.ts";
import { readFileSync } from "node:fs";
import packageDocument from "../package.json" with { type: "json" };
import { openLog } from "../shared/adapters/pino-log.ts";
import {
  readEdgeDatabase,
  readIdentityKey,
  readIdentityPublicKeys,
  readRings,
} from "../shared/domain/module-secrets.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";
import type { Log } from "../shared/ports/log.ts";
import { type Configuration, readConfiguration } from "./configuration.ts";
import { type ContainerSettings, readContainerSettings } from "./container-settings.ts";
import type { RunningPart, StartPart } from "./module-part.ts";

/** Fargate kills after 120 s. */
const stopMs = 60_000;

async function main([name, folder]: readonly string[]): Promise<void> {
  const configuration = readConfiguration(process.env, {
    isRoot: process.getuid?.() === 0,
    workingDirectory: process.cwd(),
  });
  if (name === "set-up") {
    const { setUp } = await import("./set-up-part.ts");
    return setUp(
      needDatabase(configuration),
      folder ?? "/secrets",
      openLog({ level: configuration.logLevel }),
    );
  }
  const settings = readContainerSettings(name, process.env, (path) => readFileSync(path, "utf8"));
  const databaseUrl = databaseOf(settings, configuration);
  const log = openLog({ level: configuration.logLevel });
  for (const warning of configuration.warnings) log.warn({}, warning);
  const options = { configuration, settings, databaseUrl, version: packageDocument.version, log, say };
  requireSecrets(settings);
  const starting = start(options);
  stopOnSignals(starting, log);
  const running = await starting;
  log.info({ part: settings.part, url: running.url, version: options.version }, "ready");
}

/** From the beginning: the first process of a container has no default that ends it. */
function stopOnSignals(starting: Promise<RunningPart>, log: Log): void {
  let running: RunningPart | undefined;
  starting.then(
    (part) => {
      running = part;
    },
    () => undefined,
  );
  let asked = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (asked) process.exit(1);
      asked = true;
      setTimeout(() => process.exit(1), stopMs).unref();
      log.info({ signal }, "stopping; work on servers goes on");
      if (running === undefined) process.exit(0);
      running.close().then(() => process.exit(0), fail);
    });
  }
}

async function start(options: StartPart): Promise<RunningPart> {
  const { part, origins } = options.settings;
  if (part === "edge" && origins !== undefined) {
    const { startEdge } = await import("./edge-part.ts");
    return startEdge(options, origins);
  }
  const { startModule } = await import("./module-part.ts");
  const { migrateDatabase } = await import("../shared/adapters/postgres-migrate.ts");
  // Under a lock: of several that start at once, one does it.
  await migrateDatabase(options.databaseUrl, options);
  if (part === "edge") throw new Error("an edge without its modules");
  return startModule(part, options);
}

/** Before anything is changed, a migration included. */
function requireSecrets({ part, secret }: ContainerSettings): void {
  readRings(part, secret);
  if (part === "edge") readIdentityKey(secret);
  else readIdentityPublicKeys(secret);
}

function say(line: string): void {
  console.log(line);
}

/** The owner's address is the edge's only where nobody could make a role for it. */
function databaseOf({ part, secret }: ContainerSettings, configuration: Configuration): string {
  return (part === "edge" ? readEdgeDatabase(secret) : undefined) ?? needDatabase(configuration);
}

function needDatabase({ databaseUrl }: Configuration): string {
  if (databaseUrl !== undefined) return databaseUrl;
  throw new StartFailure(
    "configuration_invalid",
    "DATABASE_URL is missing; parts in containers share one database. For example: postgres://user:password@postgres:5432/slipway",
  );
}

function fail(error: unknown): never {
  console.error(error instanceof StartFailure ? error.message : error);
  process.exit(1);
}

await main(process.argv.slice(2)).catch(fail);
