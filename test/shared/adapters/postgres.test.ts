import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DataFolder, openDataFolder } from "../../../shared/adapters/data-folder.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../shared/adapters/embedded-postgres.ts";
import { openLog } from "../../../shared/adapters/pino-log.ts";
import { isPooled, type OpenedDatabase, openDatabase } from "../../../shared/adapters/postgres.ts";
import { openListener } from "../../../shared/adapters/postgres-listen.ts";
import { migrateDatabase } from "../../../shared/adapters/postgres-migrate.ts";
import { organizations } from "../../../shared/db/identity-tables.ts";
import { StartFailure } from "../../../shared/domain/start-failure.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { findFreePort } from "../../lab/free-port.ts";

const log = openLog({ level: "silent" });
let folder: DataFolder;
let server: EmbeddedPostgres;
let opened: OpenedDatabase;

beforeAll(async () => {
  folder = await openDataFolder(await mkdtemp(join(tmpdir(), "slipway-test-")), { purpose: "platform" });
  server = await startEmbeddedPostgres({ folder, log });
  opened = openDatabase({ url: server.url, log, statementTimeoutMs: 400 });
}, 60_000);

afterAll(async () => {
  await opened.close();
  await server.stop();
  folder.release();
  await rm(folder.path, { recursive: true });
}, 60_000);

test("migrations that start at the same time all succeed, and again change nothing", async () => {
  await Promise.all([1, 2, 3, 4].map(() => migrateDatabase(server.url, { log })));
  await migrateDatabase(server.url, { log });
  expect(await opened.db.select().from(organizations)).toEqual([]);
});

test("migrations wait for a database that was killed and recovers", async () => {
  process.kill(server.pid(), "SIGKILL");
  await migrateDatabase(server.url, { log });
});

test("a database that stays away is told in one sentence, in the time that was given", async () => {
  const nobody = await findFreePort();
  await expect(migrateDatabase(`postgres://127.0.0.1:${nobody}/slipway`, { log, waitMs: 1 })).rejects.toThrow(
    new StartFailure(
      "database_unavailable",
      `The database does not answer: connect ECONNREFUSED 127.0.0.1:${nobody}. Is DATABASE_URL right, and does the database run?`,
    ),
  );
});

test("what waiting cannot mend is told at once", async () => {
  const url = new URL(server.url);
  url.pathname = "/no_such_database";
  await expect(migrateDatabase(url.href, { log })).rejects.toMatchObject({ cause: { code: "3D000" } });
});

test("an older version does not start on the tables of a newer one, and changes nothing there", async () => {
  await migrateDatabase(server.url, { log });
  const { db } = opened;
  await db.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 99999999999999)`,
  );
  const count = () => rowsOf(db, sql`select count(*)::int as n from drizzle.__drizzle_migrations`);
  const before = await count();
  await expect(migrateDatabase(server.url, { log })).rejects.toMatchObject({ code: "database_newer" });
  expect(await count()).toEqual(before);
  await db.execute(sql`delete from drizzle.__drizzle_migrations where hash = 'newer'`);
  await migrateDatabase(server.url, { log });
});

test("a statement that takes too long is ended by the database", async () => {
  await expect(opened.db.execute(sql`SELECT pg_sleep(5)`)).rejects.toMatchObject({
    cause: { code: "57014" },
  });
});

test("a statement with a name is planned once a connection, and answers what the same one without answers", async () => {
  const one = openDatabase({ url: server.url, log, max: 1 });
  try {
    const statement = (bytes: Uint8Array) =>
      sql`select length(${sql.param(bytes)}::bytea) as length, ${7}::int as seven`;
    for (const length of [3, 0, 5]) {
      const bytes = new Uint8Array(length);
      const rows = await one.rowsByName("measured", statement(bytes));
      expect(rows).toEqual([{ length, seven: 7 }]);
      expect(await rowsOf(one.db, statement(bytes))).toEqual(rows);
    }
    const kept = sql`select name, (generic_plans + custom_plans)::int as runs from pg_prepared_statements`;
    expect(await rowsOf(one.db, kept)).toEqual([{ name: "measured", runs: 3 }]);
  } finally {
    await one.close();
  }
});

test("a transaction that throws leaves nothing", async () => {
  await migrateDatabase(server.url, { log });
  const failing = opened.db.transaction(async (transaction) => {
    await transaction.insert(organizations).values({ id: "org_x", name: "x", primaryOwnerId: "usr_x" });
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(await opened.db.select({ id: organizations.id }).from(organizations)).toEqual([]);
});

test("a connection that is cut between two statements of a transaction fails that transaction, not the process", async () => {
  const other = openDatabase({ url: server.url, log });
  const cut = opened.db.transaction(async (transaction) => {
    await transaction.execute(sql`SELECT 1`);
    await other.db.execute(cutConnections("slipway", sql`AND pid <> pg_backend_pid()`));
    // It breaks while nothing is asked: an error that nobody hears would end this process, and the test with it.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await transaction.execute(sql`SELECT 2`);
  });
  await expect(cut).rejects.toThrow();
  await other.close();
  await expect(opened.db.execute(sql`SELECT 3 AS answer`)).resolves.toMatchObject({ rows: [{ answer: 3 }] });
});

test("the pool goes on after its connections were cut", async () => {
  await opened.db.execute(sql`SELECT 1`);
  const other = openDatabase({ url: server.url, log });
  await other.db.execute(cutConnections("slipway", sql`AND pid <> pg_backend_pid()`));
  await other.close();
  await expect
    .poll(() =>
      opened.db.execute(sql`SELECT 1`).then(
        () => "ok",
        () => "cut",
      ),
    )
    .toBe("ok");
});

test("a listener hears what is sent, once", async () => {
  const listener = openListener({ url: server.url, log });
  const heard: (string | null)[] = [];
  const subscribed = Promise.withResolvers<void>();
  listener.listen(
    'Odd "channel"; --',
    (payload) => {
      heard.push(payload);
      subscribed.resolve();
    },
    AbortSignal.timeout(20_000),
  );
  await subscribed.promise;
  await opened.db.execute(sql`SELECT pg_notify('Odd "channel"; --', 'hello')`);
  await expect.poll(() => heard).toEqual([null, "hello"]);
  await listener.close();
});

test("a listener whose connection was cut is told so after it listens again", async () => {
  const listener = openListener({ url: server.url, log });
  const heard: (string | null)[] = [];
  const ending = new AbortController();
  listener.listen("lines", (payload) => heard.push(payload), ending.signal);
  await expect.poll(() => heard).toEqual([null]);
  await opened.db.execute(cutConnections("slipway-listen"));
  await expect.poll(() => heard, { timeout: 10_000 }).toEqual([null, null]);
  await opened.db.execute(sql`SELECT pg_notify('lines', 'after')`);
  await expect.poll(() => heard).toEqual([null, null, "after"]);
  ending.abort();
  await listener.close();
});

test("after its signal a listener hears nothing more, and others of the channel still do", async () => {
  const listener = openListener({ url: server.url, log });
  const first: (string | null)[] = [];
  const second: (string | null)[] = [];
  const ending = new AbortController();
  listener.listen("shared", (payload) => first.push(payload), ending.signal);
  listener.listen("shared", (payload) => second.push(payload), AbortSignal.timeout(20_000));
  await expect.poll(() => second).toEqual([null]);
  ending.abort();
  await opened.db.execute(sql`SELECT pg_notify('shared', 'one')`);
  await expect.poll(() => second).toEqual([null, "one"]);
  expect(first).toEqual([null]);
  await listener.close();
});

test("only a pooler's address is taken for one", () => {
  expect(isPooled("postgres://u:p@ep-cool-sea-123-pooler.eu-central-1.aws.neon.tech/db")).toBe(true);
  expect(isPooled("postgres://u:p@ep-cool-sea-123.eu-central-1.aws.neon.tech/db")).toBe(false);
  expect(isPooled(server.url)).toBe(false);
});

function cutConnections(application: string, besides = sql``) {
  return sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ${application} ${besides}`;
}
