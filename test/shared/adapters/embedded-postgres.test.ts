import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { openDataFolder } from "../../../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../../../shared/adapters/embedded-postgres.ts";
import { connectOffline } from "../../../shared/adapters/embedded-postgres-offline.ts";
import { openLog } from "../../../shared/adapters/pino-log.ts";
import { Miniatures, users } from "./miniature.ts";

const miniatures = new Miniatures();
const log = openLog({ level: "silent" });
const limitMs = 60_000;
const keepAnswer = "CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS answer";

afterEach(() => miniatures.endAll(), limitMs);

afterAll(() => miniatures.cleanUp(), limitMs);

describe.each(users)("as $name", { timeout: limitMs }, (user) => {
  test("a new folder gets a durable database that only a socket in a closed directory reaches", async () => {
    const folder = join(await miniatures.directory(user), "data folder");
    const { process: platform, ready } = await miniatures.startReady(folder, user);

    expect(await ask(ready.url, "SHOW listen_addresses")).toBe("");
    expect(await ask(ready.url, "SHOW fsync")).toBe("on");
    expect(await ask(ready.url, "SHOW server_encoding")).toBe("UTF8");
    const run = await stat(join(folder, "postgres", "run"));
    expect(run.mode & 0o077).toBe(0);
    expect((await stat(join(folder, "postgres", "data"))).mode & 0o077).toBe(0);

    await miniatures.end(platform, "SIGTERM");
    await expect(ask(ready.url, "SELECT 1")).rejects.toThrow(/ENOENT|ECONNREFUSED/);
  });

  test("a second start is ready within two seconds and finds its data", async () => {
    const folder = await miniatures.used(user);
    const first = await miniatures.startReady(folder, user);
    await ask(first.ready.url, keepAnswer);
    await miniatures.end(first.process, "SIGTERM");

    const second = await miniatures.startReady(folder, user);
    expect(second.ready.readyMs).toBeLessThan(2_000);
    expect(second.ready.adopted).toBe(false);
    expect(await ask(second.ready.url, "SELECT answer FROM kept")).toBe(42);
  });

  test("the database left over from a killed platform is adopted, and then stopped by its new owner", async () => {
    const folder = await miniatures.used(user);
    const killed = await miniatures.startReady(folder, user);
    await ask(killed.ready.url, keepAnswer);
    await miniatures.end(killed.process, "SIGKILL");

    const next = await miniatures.startReady(folder, user);
    expect(next.ready).toMatchObject({ adopted: true, databasePid: killed.ready.databasePid });
    expect(await ask(next.ready.url, "SELECT answer FROM kept")).toBe(42);
    await miniatures.end(next.process, "SIGTERM");
    await expect(ask(next.ready.url, "SELECT 1")).rejects.toThrow(/ENOENT|ECONNREFUSED/);
  });

  test("a database that died with its platform recovers, also where nobody collects the dead process", async () => {
    const folder = await miniatures.used(user);
    const killed = await miniatures.startReady(folder, user);
    await ask(killed.ready.url, keepAnswer);
    await miniatures.end(killed.process, "SIGKILL");
    process.kill(killed.ready.databasePid, "SIGKILL");

    const next = await miniatures.startReady(folder, user);
    expect(next.ready.adopted).toBe(false);
    expect(await ask(next.ready.url, "SELECT answer FROM kept")).toBe(42);
  });

  test("a second live platform is refused with the pid of the first, which goes on", async () => {
    const folder = await miniatures.used(user);
    const first = await miniatures.startReady(folder, user);
    const second = await miniatures.start(folder, user);
    expect(second.said).toMatchObject({
      refused: "data_folder_in_use",
      message: expect.stringContaining(`process ${first.ready.pid}`),
    });
    expect(await ask(first.ready.url, "SELECT 1 AS one")).toBe(1);
  });

  test("of platforms that start at the same time on a new folder exactly one wins", async () => {
    const folder = await miniatures.directory(user);
    const started = await Promise.all([1, 2, 3].map(() => miniatures.start(folder, user)));
    const winners = started.flatMap(({ said }) => ("pid" in said ? [said] : []));
    expect(winners).toHaveLength(1);
    const refusals = started.flatMap(({ said }) => ("refused" in said ? [said] : []));
    for (const { message } of refusals) expect(message).toContain(`process ${winners[0]?.pid}`);
  });

  test("a path too long for a socket gets a short one, which the next start adopts and a tool finds", async () => {
    const folder = join(await miniatures.directory(user), "long ".repeat(12), "%41 ü".repeat(12));
    const killed = await miniatures.startReady(folder, user);
    await miniatures.end(killed.process, "SIGKILL");
    const next = await miniatures.startReady(folder, user);
    expect(next.ready).toMatchObject({ adopted: true, url: killed.ready.url });
    const tool = await connectOffline(folder, { log });
    expect(tool.url).toBe(next.ready.url);
    await tool.close();
    await miniatures.end(next.process, "SIGTERM");
    expect(existsSync(socketDirectoryOf(next.ready.url))).toBe(false);
  });
});

describe("a tool beside the platform", { timeout: limitMs }, () => {
  const [user = { name: "" }] = users;

  test("uses the live platform's database and leaves it running", async () => {
    const folder = await miniatures.used(user);
    const platform = await miniatures.startReady(folder, user);
    const tool = await connectOffline(folder, { log });
    expect(await ask(tool.url, "SELECT 1 AS one")).toBe(1);
    await tool.close();
    expect(await ask(platform.ready.url, "SELECT 1 AS one")).toBe(1);
  });

  test("starts the database of a stopped platform for the moment; a starting platform waits for it", async () => {
    const folder = await miniatures.used(user);
    const tool = await connectOffline(folder, { log });
    await ask(tool.url, keepAnswer);
    const starting = miniatures.startReady(folder, user);
    await tool.close();
    const { ready } = await starting;
    expect(await ask(ready.url, "SELECT answer FROM kept")).toBe(42);
  });

  test("two tools at once both get their turn", async () => {
    const folder = await miniatures.directory(user);
    const asked = [1, 2].map(async (number) => {
      const tool = await connectOffline(folder, { log });
      const answer = await ask(tool.url, `SELECT ${number} AS number`);
      await tool.close();
      return answer;
    });
    expect(await Promise.all(asked)).toEqual([1, 2]);
  });
});

describe("the database of a running platform", { timeout: limitMs }, () => {
  const [user = { name: "" }] = users;

  test("is started again when it dies", async () => {
    const folder = await openDataFolder(await miniatures.used(user), { purpose: "platform" });
    const database = await startEmbeddedPostgres({ folder, log });
    const died = database.pid();
    process.kill(died, "SIGKILL");
    await expect.poll(() => database.pid(), { timeout: 20_000 }).not.toBe(died);
    expect(await ask(database.url, "SELECT 1 AS one")).toBe(1);
    await database.stop();
    folder.release();
  });

  test("is started again while a session of the killed one is still at work", async () => {
    const folder = await openDataFolder(await miniatures.used(user), { purpose: "platform" });
    const database = await startEmbeddedPostgres({ folder, log });
    const endless = ask(database.url, "SELECT count(*) FROM generate_series(1, 1e12)").catch(() => "cut off");
    const working =
      "SELECT count(*)::int FROM pg_stat_activity WHERE query LIKE '%generate_series%1e12%' AND pid <> pg_backend_pid()";
    await expect.poll(() => ask(database.url, working)).toBe(1);
    const died = database.pid();
    process.kill(died, "SIGKILL");
    await expect.poll(() => database.pid(), { timeout: 20_000 }).not.toBe(died);
    expect(await endless).toBe("cut off");
    expect(await ask(database.url, "SELECT 1 AS one")).toBe(1);
    await database.stop();
    folder.release();
  });

  test("that was adopted is watched, and started again too", async () => {
    const path = await miniatures.used(user);
    const killed = await miniatures.startReady(path, user);
    await miniatures.end(killed.process, "SIGKILL");
    const folder = await openDataFolder(path, { purpose: "platform" });
    const database = await startEmbeddedPostgres({ folder, log });
    expect(database.adopted).toBe(true);
    process.kill(killed.ready.databasePid, "SIGKILL");
    await expect.poll(() => database.pid(), { timeout: 20_000 }).not.toBe(killed.ready.databasePid);
    await database.stop();
    folder.release();
  });

  test("leaves no temporary directory of its making behind", async () => {
    const path = await miniatures.used(user);
    const folder = await openDataFolder(path, { purpose: "platform" });
    const database = await startEmbeddedPostgres({ folder, log });
    await database.stop();
    folder.release();
    const left = await readdir(join(path, "postgres"));
    expect(left.filter((name) => name.endsWith(".new") || name === "making")).toEqual([]);
  });
});

describe.runIf(process.getuid?.() === 0)("as root", () => {
  test("a parent that the database's user cannot pass is named", { timeout: limitMs }, async () => {
    const closed = join(await miniatures.directory({ name: "root" }), "closed");
    await mkdir(join(closed, "data"), { recursive: true });
    await chmod(closed, 0o700);
    const { said } = await miniatures.start(join(closed, "data"), { name: "root" });
    expect(said).toMatchObject({
      refused: "data_folder_not_traversable",
      message: expect.stringContaining(`chmod o+x ${closed}`),
    });
  });
});

function socketDirectoryOf(url: string): string {
  return new URL(url).searchParams.get("host") ?? "";
}

async function ask(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  });
  // The end of a killed database is told twice: to whoever asks, and so.
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}
