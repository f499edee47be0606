/** The same migrations through Neon's driver make the same tables. On Postgres 15 they run in functions/compose.lab.test.ts. */
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/neon-http";
import { migrate } from "drizzle-orm/neon-http/migrator";
import { expect, inject, test } from "vitest";
import { openNeon } from "../../../shared/adapters/neon-http.ts";
import { directUrl, isPooled } from "../../../shared/adapters/postgres.ts";
import type { Database } from "../../../shared/db/database.ts";
import { rowsOf } from "../../../shared/operations/statements.ts";
import { openTestDatabase } from "../../database.ts";
import { withDatabase } from "../../global-set-up.ts";
import { startNeonProxy } from "../../neon-proxy.ts";

const migrationsFolder = new URL("../../../shared/db/migrations", import.meta.url).pathname;

test("migrations through Neon's driver make the very columns, defaults, indexes and constraints that they make through pg", async () => {
  const database = await openTestDatabase();
  const neon = await startNeonProxy((name) => withDatabase(inject("postgresUrl"), name));
  try {
    const wanted = await tablesOf(database.db);
    for (const schema of ["public", "drizzle"]) {
      await database.db.execute(sql.raw(`drop schema if exists ${schema} cascade`));
    }
    await database.db.execute(sql`create schema public`);
    const url = `postgres://edge:secret@neon.test${new URL(database.url).pathname}`;
    const { db } = openNeon({ url, endpoint: neon.endpoint });
    await migrate(drizzle({ connection: { connectionString: url } }), { migrationsFolder });
    expect(await tablesOf(db)).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(100);
    expect(new Set(wanted.map(({ kind }) => kind))).toEqual(new Set(["column", "constraint", "index"]));
  } finally {
    await neon.close();
    await database.close();
  }
});

test("behind Neon's pooler, what needs a session goes to the database itself", () => {
  const pooled = "postgres://me:secret@ep-cool-1-pooler.eu-central-1.aws.neon.tech/slipway?sslmode=require";
  const direct = "postgres://me:secret@ep-cool-1.eu-central-1.aws.neon.tech/slipway?sslmode=require";
  expect([isPooled(pooled), directUrl(pooled)]).toEqual([true, direct]);
  expect([isPooled(direct), directUrl(direct)]).toEqual([false, direct]);
});

/** Columns with their defaults, indexes and constraints. NOT NULL is told by the columns: Postgres 18 alone lists it as a constraint. */
function tablesOf(db: Database) {
  return rowsOf<{ kind: string; table: string; what: string }>(
    db,
    sql`
      select 'column' as kind, table_name::text as "table",
        concat_ws(' ', column_name, data_type, is_nullable, column_default) as what
      from information_schema.columns where table_schema = 'public'
      union all
      select 'index', tablename::text, indexdef from pg_indexes where schemaname = 'public'
      union all
      select 'constraint', conrelid::regclass::text, conname || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
      order by 1, 2, 3`,
  );
}
