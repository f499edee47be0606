/**
 * Where the faults happen: a server and a database of this test's own, a wire between that can be cut, controllers as
 * real processes, one project with a version live. All is used through the API, as callers do.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDataFolder } from "../../shared/adapters/data-folder.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../shared/adapters/embedded-postgres.ts";
import { loadInstanceSecrets } from "../../shared/adapters/instance-secrets.ts";
import { openDatabase } from "../../shared/adapters/postgres.ts";
import { migrateDatabase } from "../../shared/adapters/postgres-migrate.ts";
import { type Client, createClient } from "../../shared/contract/client.ts";
import { createProject } from "../../shared/contract/projects.ts";
import { hashToken, makeToken } from "../../shared/crypto/token.ts";
import type { Database } from "../../shared/db/database.ts";
import { tokens } from "../../shared/db/identity-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { permissionTags } from "../../shared/domain/permission.ts";
import { defaultLeaseTimes } from "../../shared/operations/lease-times.ts";
import { seedOrganization } from "../database.ts";
import { addServer } from "../demo/main-job.ts";
import { endWithUs } from "../end-with-us.ts";
import type { SharedLab } from "../lab/describe-with-lab.ts";
import type { LabServer } from "../lab/server.ts";
import { startTcpRelay, type TcpRelay } from "../shared/shell/tcp-relay.ts";
import { shortLease } from "../short-lease.ts";
import { silentLog } from "../silent-log.ts";
import { type Controller, startController } from "./controller.ts";
import { installHolds } from "./holds.ts";
import { type Inventory, inventoryOf } from "./inventory.ts";
import { until } from "./until.ts";

export interface FaultStage {
  machine: LabServer;
  relay: TcpRelay;
  /** Of the database now. */
  databasePid(): Promise<number>;
  db: Database;
  /** The server when it was ready and nothing had been deployed. */
  before: Inventory;
  /** Controllers that are up. */
  controllers: Controller[];
  startController(lease: "short" | "default"): Promise<Controller>;
  client(controller: Controller): Client;
  /** An empty repository and its project. */
  project(): Promise<{ id: string; commit(files: Record<string, string>): Promise<string> }>;
  /** Ends every controller in order; throws for one that does not end well. */
  stopControllers(): Promise<void>;
  close(): Promise<void>;
}

export async function openFaultStage(
  lab: SharedLab,
  prepare: (machine: LabServer) => Promise<void> = installHolds,
): Promise<FaultStage> {
  const home = await mkdtemp(join(tmpdir(), "slipway-faults-"));
  await chmod(home, 0o755);
  const folder = await openDataFolder(join(home, "data"), { purpose: "platform" });
  // Its keeper takes the sixth death within ten minutes for a crash loop; here it is the sixth case.
  const openPostgres = (): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      folder,
      log: silentLog,
      onLost: () => {
        running = openPostgres();
      },
    });
  let running = openPostgres();
  const [machine, postgres] = await Promise.all([lab.startServer(), running]);
  const watch = endWithUs(home);
  await Promise.all([
    prepare(machine),
    migrateDatabase(postgres.url, { log: silentLog }),
    loadInstanceSecrets(folder),
  ]);
  const relay = await startTcpRelay(machine);
  const database = openDatabase({ url: postgres.url, log: silentLog, max: 4 });
  const { db } = database;
  const token = await seedToken(db);
  const controllers: Controller[] = [];

  const start: FaultStage["startController"] = async (lease) => {
    const times = lease === "short" ? shortLease : defaultLeaseTimes;
    const options = { databaseUrl: postgres.url, dataFolder: folder.path, lease: times };
    const controller = await startController(options);
    controllers.push(controller);
    return controller;
  };
  const client = (controller: Controller) => createClient({ baseUrl: controller.url, token });
  const stopControllers = async () => {
    const codes = await Promise.all(controllers.splice(0).map(async (each) => each.alive() && each.stop()));
    if (codes.some((code) => code !== false && code !== 0))
      throw new Error(`Controllers ended with ${codes}`);
  };
  const first = await start("default");
  const serverId = await addServer(client(first), { ...machine, port: relay.port });
  await stopControllers();
  await until(() => relay.open(), 0, 10_000);
  const before = await inventoryOf(machine);

  return {
    machine,
    relay,
    databasePid: async () => (await running).pid(),
    db,
    before,
    controllers,
    startController: start,
    client,
    stopControllers,
    project: async () => {
      const [owner, repo] = ["faults", `app-${randomBytes(4).toString("hex")}`];
      await lab.git.createRepository(owner, repo);
      const controller = controllers.at(-1) ?? (await start("short"));
      const { data } = await client(controller).call(createProject, {
        json: {
          name: repo,
          serverId,
          source: { kind: "git", owner, repo, branch: "main", cloneUrl: lab.git.url(owner, repo) },
          healthCheck: { path: "/" },
        },
      });
      return { id: data.id, commit: (files) => lab.git.commit(owner, repo, { files, message: "Next" }) };
    },
    close: async () => {
      await Promise.all(controllers.splice(0).map((each) => each.kill()));
      await relay.close();
      await database.close();
      await (await running).stop();
      watch.done();
      folder.release();
      await machine.remove();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function seedToken(db: Database): Promise<string> {
  const owner = await seedOrganization(db);
  const token = makeToken();
  const hash = await hashToken(token);
  const permissions = [...permissionTags];
  await db.insert(tokens).values({ id: newId("token"), ...owner, name: "faults", hash, permissions });
  return token;
}
