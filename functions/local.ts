/**
 * `npm start`: the whole platform in this process, on the embedded Postgres of its data folder or on DATABASE_URL.
 * Prints for people on standard output; the log goes to standard error as JSON lines.
 */
import "./quick-imports.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openDataFolder } from "../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../shared/adapters/embedded-postgres.ts";
import { loadInstanceSecrets } from "../shared/adapters/instance-secrets.ts";
import { openLog } from "../shared/adapters/pino-log.ts";
import { StartFailure } from "../shared/domain/start-failure.ts";
import type { Log } from "../shared/ports/log.ts";
import { type Configuration, readConfiguration } from "./configuration.ts";
import type { OneProcess } from "./one-process.ts";

interface Running {
  platform: OneProcess;
  stop(): Promise<void>;
}

/** A stop that takes longer is given up: what runs on servers goes on, and the next start takes it up. */
const stopMs = 30_000;
/** ctrl-C reaches this process from the terminal, and again from the npm that started it: no second, impatient one. */
const sameSignalMs = 1_000;

async function main(): Promise<void> {
  const configuration = readConfiguration(process.env, {
    isRoot: process.getuid?.() === 0,
    workingDirectory: process.cwd(),
  });
  const log = openLog({ level: configuration.logLevel });
  for (const warning of configuration.warnings) log.warn({}, warning);
  const starting = new AbortController();
  const running = start(configuration, log, starting.signal);
  stopOnSignals(running, starting, log);
  const { platform } = await running;
  // Since the process began.
  await greet(platform, configuration, performance.now());
}

async function start(configuration: Configuration, log: Log, signal: AbortSignal): Promise<Running> {
  requireSecrets(configuration);
  const folder = await openDataFolder(configuration.dataFolder, { purpose: "platform" });
  const secrets = await loadInstanceSecrets(folder);
  const embed = configuration.databaseUrl === undefined;
  const [embedded, { migrateDatabase, startInOneProcess }] = await Promise.all([
    embed ? startEmbeddedPostgres({ folder, log, signal, onLost: giveUp }) : undefined,
    loadPlatform(),
  ]);
  const stopDatabase = async () => {
    await embedded?.stop();
    folder.release();
  };
  try {
    const databaseUrl = configuration.databaseUrl ?? embedded?.url ?? "";
    await migrateDatabase(databaseUrl, { log, signal });
    const platform = await startInOneProcess({
      configuration,
      databaseUrl,
      aloneOnDatabase: embedded !== undefined,
      secrets,
      version: version(),
      log,
      announceSetUpCode: (code) =>
        console.log(`Too many wrong set-up codes were tried. The new one is ${code}`),
    });
    return {
      platform,
      async stop() {
        await platform.close();
        await stopDatabase();
      },
    };
  } catch (error) {
    await stopDatabase();
    throw error;
  }
}

/** Secrets are made only for an instance of one's own: in the cloud new ones would make all that is sealed unreadable. */
function requireSecrets({ mode, dataFolder }: Configuration): void {
  if (mode === "self-hosted" || existsSync(join(dataFolder, "secrets.json"))) return;
  throw new StartFailure(
    "secret_missing",
    `There are no secrets in ${dataFolder}, and cloud mode makes none. The cloud runs parts in containers (docs/operating.md); one process needs the secrets.json of its data folder back.`,
  );
}

/** Half of the start is reading these modules: it happens while the database starts. */
async function loadPlatform() {
  const { migrateDatabase } = await import("../shared/adapters/postgres-migrate.ts");
  const { startInOneProcess } = await import("./one-process.ts");
  return { migrateDatabase, startInOneProcess };
}

function stopOnSignals(running: Promise<Running>, starting: AbortController, log: Log): void {
  let askedAtMs: number | undefined;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (askedAtMs !== undefined) {
      if (performance.now() - askedAtMs >= sameSignalMs) process.exit(1);
      return;
    }
    askedAtMs = performance.now();
    console.log(`\nStopping (${signal}). Work on servers goes on; the next start takes it up.`);
    setTimeout(() => process.exit(1), stopMs).unref();
    starting.abort(new StartFailure("stopped", "Stopped while starting."));
    try {
      await (await running).stop();
      process.exit(0);
    } catch (error) {
      if (!(error instanceof StartFailure)) log.error({ err: error }, "stopping failed");
      fail(error);
    }
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
}

function giveUp(reason: Error): void {
  fail(reason);
}

async function greet(
  { url, hasOrganization, setUpCode }: OneProcess,
  configuration: Configuration,
  ms: number,
): Promise<void> {
  const isSetUp = await hasOrganization();
  console.log(`Slipway ${version()} is ready in ${(ms / 1000).toFixed(1)} s.

  Listening on   ${url}
  API reference  ${configuration.baseUrl}/api/docs
  Data folder    ${configuration.dataFolder}
${isSetUp ? nextSteps : firstSteps(setUpCode.current())}`);
}

const firstSteps = (code: string) => `
  There is no organization yet. In another terminal:

    npm run -s slipway -- init --org "My organization" --email you@example.com --login

  It makes the organization, its owner and an access token, and remembers the login.
  Whoever sets it up over the network (POST /api/auth/setup) needs this code: ${code}
`;

const nextSteps = `
  npm run -s slipway -- status     what there is
  npm run -s slipway -- --help     every command
`;

function version(): string {
  const file = new URL("../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

function fail(error: unknown): never {
  console.error(error instanceof StartFailure ? error.message : error);
  process.exit(1);
}

await main().catch(fail);
