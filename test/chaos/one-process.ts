/** What `npm start` runs, under the storm: one process, the queue in its database, and the database as a child. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findSocketDirectory, socketUrl } from "../../shared/adapters/embedded-postgres-layout.ts";
import { loadInstanceSecrets } from "../../shared/adapters/instance-secrets.ts";
import { openDatabase } from "../../shared/adapters/postgres.ts";
import { createSealer } from "../../shared/crypto/seal.ts";
import { openSshPeer } from "../cli/ssh-peer.ts";
import {
  makeDataFolder,
  type PlatformProcess,
  removeDataFolder,
  startPlatform,
} from "../demo/platform-process.ts";
import { findFreePort } from "../lab/free-port.ts";
import { silentLog } from "../silent-log.ts";
import { seedRepositories } from "./repositories.ts";
import type { Shape } from "./storm.ts";

const instanceSecret = "the secret of a whole instance";

export async function openOneProcess({ repositories: count }: { repositories: number }): Promise<Shape> {
  const dataFolder = await makeDataFolder();
  const port = await findFreePort();
  const start = () =>
    startPlatform({
      ...{ dataFolder, port },
      environment: { SLIPWAY_TRUSTED_PROXIES: "127.0.0.1", GIT_WEBHOOK_SECRET: instanceSecret },
    });
  let platform: PlatformProcess = await start();
  const again = async (end: () => Promise<void>) => {
    await end();
    platform = await start();
  };
  const killDatabase = async () => {
    const record = await readFile(join(dataFolder, "postgres/data/postmaster.pid"), "utf8");
    process.kill(Number(record.split("\n")[0]), "SIGKILL");
  };
  const openDb = async () => {
    const url = socketUrl((await findSocketDirectory(dataFolder)) ?? "");
    return openDatabase({ url, log: silentLog, max: 2 });
  };
  const { db, close } = await openDb();
  const { classes } = await loadInstanceSecrets({ path: dataFolder, release: () => undefined });
  const server = await openSshPeer();
  const repositories = await seedRepositories(db, createSealer(classes), { count, instanceSecret, server });
  await close();
  return {
    url: () => platform.url,
    sourceHeader: "x-forwarded-for",
    repositories,
    blows: {
      process: () => again(() => platform.kill()),
      restart: () => again(() => platform.stop()),
      database: killDatabase,
      both: () =>
        again(async () => {
          await Promise.all([platform.kill(), killDatabase()]);
        }),
    },
    db: openDb,
    output: () => platform.output(),
    close: async () => {
      await platform.stop();
      await server.close();
      await removeDataFolder(dataFolder);
    },
  };
}
