/** What the edge's own role may do. That it is enough, the edge's suites on workerd show: they run under it. */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrateDatabase } from "../../../shared/adapters/postgres-migrate.ts";
import { edgeRole } from "../../../shared/db/edge-role.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { openTestDatabase, type TestDatabase } from "../../database.ts";
import { silentLog } from "../../silent-log.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const asEdge = (statement: string) =>
  database.db.transaction(async (tx) => {
    await tx.execute(sql.raw(`set local role ${edgeRole}`));
    await tx.execute(sql.raw(statement));
  });

test("of all that is sealed the edge may read the webhook secrets and its kept answers alone", async () => {
  const readable = await rowsOf<{ column: string }>(
    database.db,
    sql`
      select table_name || '.' || column_name as "column" from information_schema.columns
      where table_schema = 'public' and (column_name like '%sealed%' or column_name like '%password%')
        and has_column_privilege(${edgeRole}, quote_ident(table_name), column_name, 'select')
      order by 1`,
  );
  expect(readable.map(({ column }) => column)).toEqual([
    "idempotency_answers.sealed_answer",
    "projects.sealed_webhook_secret",
  ]);
});

test.each([
  "select * from projects",
  "select sealed_credential from servers",
  "select password_hash from users",
  "update projects set auto_deploy = true",
  "update tokens set revoked_at = null",
  "update memberships set role = 'owner'",
  "update operations set state = 'ready'",
  "delete from webhook_deliveries",
  "insert into tokens (id) values ('t')",
  "insert into audit_entries (id) values ('a')",
  "create table mine (id text)",
])("it may not: %s", async (statement) => {
  await expect(asEdge(statement)).rejects.toMatchObject({
    cause: { message: expect.stringContaining("permission denied") },
  });
});

test("a migration gives it what it lacks and takes what it should not have", async () => {
  await database.db.execute(sql.raw(`revoke all on webhook_deliveries from ${edgeRole}`));
  await database.db.execute(sql.raw(`grant select on servers to ${edgeRole}`));
  await migrateDatabase(database.url, { log: silentLog });
  await asEdge("select id from webhook_deliveries");
  await expect(asEdge("select id from servers")).rejects.toThrow();
});

test("a table that somebody else has made beside ours stops no migration", async () => {
  const { db, url } = database;
  const owner = `owner_${randomBytes(4).toString("hex")}`;
  const name = new URL(url).pathname.slice(1);
  await db.execute(sql.raw("create table not_ours (id text)"));
  await db.execute(sql.raw(`create role ${owner} login`));
  try {
    await db.execute(sql.raw(ownedBy(owner, name)));
    const asOwner = new URL(url);
    asOwner.username = owner;
    await migrateDatabase(asOwner.href, { log: silentLog });
  } finally {
    await db.execute(sql.raw(`reassign owned by ${owner} to current_user`));
    await db.execute(sql.raw(`drop owned by ${owner}`));
    await db.execute(sql.raw(`drop role ${owner}`));
  }
});

/** Everything of ours, as on a database where the platform is no superuser. */
function ownedBy(owner: string, database: string): string {
  return `
    alter database "${database}" owner to ${owner};
    alter schema drizzle owner to ${owner};
    do $$ declare each regclass; begin
      for each in select oid from pg_class where relkind = 'r' and relname <> 'not_ours'
        and relnamespace in ('public'::regnamespace, 'drizzle'::regnamespace)
      loop execute format('alter table %s owner to ${owner}', each); end loop;
    end $$`;
}
