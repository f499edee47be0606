/** The role of the edge as the set-up step makes it, on a server of its own: roles belong to the whole server. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDataFolder } from "../../../shared/adapters/data-folder.ts";
import { startEmbeddedPostgres } from "../../../shared/adapters/embedded-postgres.ts";
import { openDatabase } from "../../../shared/adapters/postgres.ts";
import { edgeUrl, makeEdgeRole } from "../../../shared/adapters/postgres-edge-role.ts";
import { migrateDatabase } from "../../../shared/adapters/postgres-migrate.ts";
import { edgeRole } from "../../../shared/db/edge-role.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { withDatabase } from "../../global-set-up.ts";
import { silentLog } from "../../silent-log.ts";

const undo: (() => Promise<unknown>)[] = [];
let ownersUrl: string;

beforeAll(async () => {
  const home = await mkdtemp(join(tmpdir(), "slipway-edge-role-"));
  undo.push(() => rm(home, { recursive: true, force: true }));
  await chmod(home, 0o755);
  const folder = await openDataFolder(join(home, "data"), { purpose: "platform" });
  undo.push(async () => folder.release());
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog });
  undo.push(() => postgres.stop());
  ownersUrl = postgres.url;
}, 60_000);
afterAll(async () => {
  for (const each of undo.reverse()) await each();
});

/** Answers what is said of the role; undefined: it stands. */
async function setUp(url: string, password: string): Promise<string | undefined> {
  let said: string | undefined;
  await migrateDatabase(url, {
    log: silentLog,
    before: async (db) => {
      said = await makeEdgeRole(db, password);
    },
  });
  return said;
}

async function asOwner<Row>(statement: string): Promise<Row[]> {
  const { db, close } = openDatabase({ url: ownersUrl, log: silentLog, max: 1 });
  return rowsOf<Row>(db, sql.raw(statement)).finally(close);
}
const kept = async () =>
  (
    await asOwner<{ rolpassword: string }>(`select rolpassword from pg_authid where rolname = '${edgeRole}'`)
  )[0]?.rolpassword ?? "";

test("is made with its rights where there is none, again without harm, and with a new password where one is given", async () => {
  for (const password of ["a".repeat(48), "a".repeat(48), "b".repeat(48)]) {
    expect(await setUp(ownersUrl, password)).toBeUndefined();
    expect(await kept()).toMatch(/^SCRAM-SHA-256\$4096:/);
    const { db, close } = openDatabase({ url: edgeUrl(ownersUrl, password), log: silentLog, max: 1 });
    try {
      expect(
        await rowsOf(db, sql`select current_user as me, count(id)::int as n from tokens group by 1`),
      ).toEqual([]);
      expect(await rowsOf(db, sql`select current_user as me`)).toEqual([{ me: edgeRole }]);
      await expect(rowsOf(db, sql`select password_hash from users`)).rejects.toThrow();
    } finally {
      await close();
    }
  }
});

test("is left alone when another instance or a person made it", async () => {
  const before = await kept();
  await asOwner("create database another");
  const another = withDatabase(ownersUrl, "another");
  expect(await setUp(another, "c".repeat(48))).toContain("was not made by this step");
  expect(await kept()).toBe(before);
});

test("is not made by one who may not make roles, who is told so and migrates all the same", async () => {
  await asOwner("create role modest login");
  await asOwner("create database modest owner modest");
  await asOwner(`drop owned by ${edgeRole}`);
  await asOwner("drop database another with (force)");
  await asOwner(`drop role ${edgeRole}`);
  const modest = new URL(withDatabase(ownersUrl, "modest"));
  modest.searchParams.set("user", "modest");
  expect(await setUp(modest.href, "d".repeat(48))).toContain("may not make roles");
  expect(await kept()).toBe("");
});

test.each([
  [
    "postgres://owner:pass@db.example.com:5433/slipway?sslmode=require",
    "postgres://slipway_edge:pw@db.example.com:5433/slipway?sslmode=require",
  ],
  ["postgres://db/slipway?user=owner&password=pass", "postgres://slipway_edge:pw@db/slipway"],
  [
    "postgres:///slipway?host=/run&user=owner",
    "postgres:///slipway?host=%2Frun&user=slipway_edge&password=pw",
  ],
])("takes the owner's place in %s", (owners, edges) => {
  expect(edgeUrl(owners, "pw")).toBe(edges);
});
