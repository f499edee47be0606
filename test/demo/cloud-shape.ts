/**
 * The whole cloud on one machine: the worker in workerd, its database over Neon's driver, a server of the SQS protocol,
 * and each module in a process of its own, in cloud mode. Nothing is faked but the addresses.
 */
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { initOffline } from "../../functions/offline.ts";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../../shared/adapters/embedded-postgres.ts";
import { openDatabase } from "../../shared/adapters/postgres.ts";
import { edgeRole } from "../../shared/db/edge-role.ts";
import { findFreePort } from "../lab/free-port.ts";
import { startNeonProxy } from "../neon-proxy.ts";
import { type PartProcess, runPart, startPart } from "../part-process.ts";
import { silentLog } from "../silent-log.ts";
import { sqsCredentials, sqsRegion, startSqsServer } from "../sqs-server.ts";
import { startWranglerDev } from "../wrangler-dev.ts";
import { startBalancer } from "./balancer.ts";
import { makeDataFolder } from "./platform-process.ts";

export interface CloudShape {
  /** Of the worker. */
  url: string;
  /** The database itself, as its owner; the worker reaches it by Neon's protocol and the edge's role. */
  databaseUrl: string;
  /** Of the owner of a first organization, made as the operator of the cloud makes it. */
  token: string;
  /** Two of the deploy module: they share the work. */
  deploys: PartProcess[];
  /** What all of it printed. */
  output(): string;
  close(): Promise<void>;
}

type Say = (line: string) => void;

export async function startCloudShape(say: Say = () => undefined): Promise<CloudShape> {
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const each of undo.reverse().splice(0)) await each();
  };
  try {
    return await start(undo, close, say);
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  undo: (() => Promise<unknown>)[],
  close: () => Promise<void>,
  say: Say,
): Promise<CloudShape> {
  const home = await makeDataFolder();
  // As root the database runs as another user, who must pass through.
  await chmod(home, 0o711);
  undo.push(() => rm(home, { recursive: true, force: true }));
  const folder = await openDataFolder(join(home, "database"), { purpose: "platform" });
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  undo.push(async () => {
    await postgres.stop();
    folder.release();
  });
  await makeEdgeRole(postgres.url);
  const neon = await startNeonProxy(() => postgres.url, { role: edgeRole });
  undo.push(neon.close);
  const sqs = await startSqsServer();
  undo.push(sqs.close);
  const queue = await sqs.urls("deploy");
  say(`Postgres behind Neon's protocol at ${neon.endpoint}; SQS FIFO at ${queue.url}`);

  const secrets = await mkdtemp(join(home, "secrets-"));
  const environment = await environments(postgres.url, secrets);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const cloud = {
    ...{ DATABASE_URL: postgres.url, SLIPWAY_MODE: "cloud", SLIPWAY_BASE_URL: url },
    // The managed server is on this machine; the cloud itself connects to public addresses only.
    SLIPWAY_ALLOW_PRIVATE_TARGETS: "127.0.0.0/8",
  };
  const forQueue = {
    SLIPWAY_QUEUE_DEPLOY: queue.url,
    AWS_REGION: sqsRegion,
    AWS_ACCESS_KEY_ID: sqsCredentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: sqsCredentials.secretAccessKey,
  };
  const deploy = { ...cloud, ...environment.deploy, ...forQueue, SLIPWAY_QUEUE_DEPLOY_DEAD: queue.deadUrl };
  const parts = await Promise.all([
    startPart("platform", { ...cloud, ...environment.platform, SLIPWAY_DATA_DIR: join(home, "platform") }),
    startPart("notify", { ...cloud, ...environment.notify, SLIPWAY_DATA_DIR: join(home, "notify") }),
    startPart("deploy", { ...deploy, SLIPWAY_DATA_DIR: join(home, "deploy-1") }),
    startPart("deploy", { ...deploy, SLIPWAY_DATA_DIR: join(home, "deploy-2") }),
  ]);
  undo.push(() => Promise.all(parts.map((each) => each.stop())));
  const [platform, notify, ...deploys] = parts;
  const balancer = await startBalancer(deploys.map((each) => each.url));
  undo.push(balancer.close);
  say(`platform at ${platform.url}, deploy at ${deploys.map((each) => each.url).join(" and ")}`);
  const worker = await startWranglerDev({
    port,
    variables: {
      ...environment.edge,
      ...forQueue,
      SLIPWAY_BASE_URL: url,
      DATABASE_URL: "postgres://edge:secret@neon.local/slipway",
      SLIPWAY_NEON_ENDPOINT: neon.endpoint,
      SLIPWAY_PLATFORM_URL: platform.url,
      SLIPWAY_DEPLOY_URL: balancer.url,
      SLIPWAY_NOTIFY_URL: notify.url,
    },
  });
  undo.push(worker.stop);
  say(`the worker, in workerd, at ${worker.url}`);
  const output = () => [worker, ...parts].map((each) => each.output()).join("\n");
  const { token } = await initOffline(
    { dataFolder: home, databaseUrl: postgres.url, log: silentLog },
    { organization: "Acme", email: "owner@example.com", password: "correct horse battery staple" },
  );
  return { url, databaseUrl: postgres.url, token, deploys, output, close };
}

/** As its operator does once; the migrations of the set-up step give it its rights. */
async function makeEdgeRole(url: string): Promise<void> {
  const { db, close } = openDatabase({ url, log: silentLog, max: 1 });
  await db.execute(sql.raw(`create role ${edgeRole}`)).finally(close);
}

/** What each part is given as variables, as the cloud does it. */
async function environments(databaseUrl: string, folder: string) {
  const { code, output } = await runPart(["set-up", folder], { DATABASE_URL: databaseUrl });
  if (code !== 0) throw new Error(`The set-up failed:\n${output}`);
  const of = async (part: string): Promise<Record<string, string>> => {
    const content = JSON.parse(await readFile(join(folder, part, "secrets.json"), "utf8")) as object;
    return Object.fromEntries(Object.entries(content).map(([name, value]) => [name, JSON.stringify(value)]));
  };
  const [edge, platform, deploy, notify] = await Promise.all(
    ["edge", "platform", "deploy", "notify"].map(of),
  );
  return { edge, platform, deploy, notify };
}
