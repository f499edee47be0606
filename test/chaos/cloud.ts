/**
 * The cloud under the storm, on one machine: the worker in workerd, the deploy function twice, a queue of the SQS
 * protocol and a Postgres behind Neon's protocol. Each in a process of its own, and each is killed.
 */
import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../../shared/adapters/embedded-postgres.ts";
import { loadInstanceSecrets } from "../../shared/adapters/instance-secrets.ts";
import { openDatabase } from "../../shared/adapters/postgres.ts";
import { createSealer } from "../../shared/crypto/seal.ts";
import { openSshPeer } from "../cli/ssh-peer.ts";
import { makeDataFolder } from "../demo/platform-process.ts";
import { endWithUs } from "../end-with-us.ts";
import { findFreePort } from "../lab/free-port.ts";
import { startNeonProxy } from "../neon-proxy.ts";
import { runPart, startPart } from "../part-process.ts";
import { silentLog } from "../silent-log.ts";
import { sqsCredentials, sqsRegion } from "../sqs-server.ts";
import { startWranglerDev } from "../wrangler-dev.ts";
import { startKillableSqs } from "./killable-sqs.ts";
import { seedRepositories } from "./repositories.ts";
import type { Shape } from "./storm.ts";

const instanceSecret = "the secret of a whole instance";
const nowhere = "http://127.0.0.1:9";

export async function openCloud({ repositories: count }: { repositories: number }): Promise<Shape> {
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const each of undo.reverse().splice(0)) await each();
  };
  try {
    return await open(count, undo, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  count: number,
  undo: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<Shape> {
  const home = await makeDataFolder();
  undo.push(() => rm(home, { recursive: true, force: true }));
  const postgres = await openPostgres(home, undo);
  const neon = await startNeonProxy(() => postgres.url);
  undo.push(neon.close);
  const sqs = await startKillableSqs();
  undo.push(sqs.stop);
  const server = await openSshPeer();
  undo.push(server.close);

  const secrets = join(home, "secrets");
  const { code, output } = await runPart(["set-up", secrets], { DATABASE_URL: postgres.url });
  if (code !== 0) throw new Error(`The set-up failed:\n${output}`);
  const forQueue = {
    SLIPWAY_QUEUE_DEPLOY: sqs.url,
    AWS_REGION: sqsRegion,
    AWS_ACCESS_KEY_ID: sqsCredentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: sqsCredentials.secretAccessKey,
  };
  const port = await findFreePort();
  const variables = {
    ...{ ...(await secretsOf("edge", secrets)), ...forQueue, SLIPWAY_BASE_URL: `http://127.0.0.1:${port}` },
    DATABASE_URL: "postgres://edge:secret@neon.local/slipway",
    SLIPWAY_NEON_ENDPOINT: neon.endpoint,
    ...{ SLIPWAY_PLATFORM_URL: nowhere, SLIPWAY_DEPLOY_URL: nowhere, SLIPWAY_NOTIFY_URL: nowhere },
    GIT_WEBHOOK_SECRET: instanceSecret,
  };
  const startWorker = () => startWranglerDev({ port, variables });
  const deployEnvironment = {
    ...{ ...(await secretsOf("deploy", secrets)), ...forQueue, DATABASE_URL: postgres.url },
    ...{ SLIPWAY_QUEUE_DEPLOY_DEAD: sqs.deadUrl, SLIPWAY_MODE: "cloud" },
    SLIPWAY_BASE_URL: `http://127.0.0.1:${port}`,
    SLIPWAY_ALLOW_PRIVATE_TARGETS: "127.0.0.0/8",
  };
  const startDeploy = (name: string) =>
    startPart("deploy", { ...deployEnvironment, SLIPWAY_DATA_DIR: join(home, name) });
  const deploys = await Promise.all(["deploy-1", "deploy-2"].map(startDeploy));
  undo.push(() => Promise.all(deploys.map((each) => each.stop())));
  let worker = await startWorker();
  undo.push(() => worker.stop());

  const openDb = async () => openDatabase({ url: postgres.url, log: silentLog, max: 2 });
  const { db, close: closeDb } = await openDb();
  const { classes } = await loadInstanceSecrets({
    path: join(secrets, "instance"),
    release: () => undefined,
  });
  const repositories = await seedRepositories(db, createSealer(classes), { count, instanceSecret, server });
  await closeDb();

  const killWorker = async () => {
    await worker.kill();
    worker = await startWorker();
  };
  const killDeploy = async () => {
    const [first] = deploys.splice(0, 1);
    await first?.kill();
    deploys.push(await startDeploy(`deploy-${Date.now()}`));
  };
  const killDatabase = async () => void process.kill(postgres.pid(), "SIGKILL");
  return {
    url: () => worker.url,
    sourceHeader: "cf-connecting-ip",
    repositories,
    blows: {
      worker: killWorker,
      deploy: killDeploy,
      queue: sqs.killAndStart,
      database: killDatabase,
      everything: () => allEnd([killDatabase(), sqs.killAndStart(), killWorker(), killDeploy()]),
    },
    db: openDb,
    output: () => [worker, ...deploys].map((each) => each.output()).join("\n"),
    close,
  };
}

/** Each comes to its end before one that failed is told: what is still starting could not be stopped. */
async function allEnd(blows: readonly Promise<void>[]): Promise<void> {
  for (const each of await Promise.allSettled(blows)) if (each.status === "rejected") throw each.reason;
}

async function openPostgres(home: string, undo: (() => Promise<unknown>)[]) {
  // As root the database runs as another user, who must pass through.
  await chmod(home, 0o711);
  const folder = await openDataFolder(join(home, "data"), { purpose: "platform" });
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  const watch = endWithUs(home);
  undo.push(async () => {
    await postgres.stop();
    watch.done();
    folder.release();
  });
  return postgres;
}

/** As variables, as the cloud gives them. */
async function secretsOf(part: string, folder: string): Promise<Record<string, string>> {
  const content = JSON.parse(await readFile(join(folder, part, "secrets.json"), "utf8")) as object;
  return Object.fromEntries(Object.entries(content).map(([name, value]) => [name, JSON.stringify(value)]));
}
