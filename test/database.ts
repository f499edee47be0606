/** A fresh, migrated database for one test file, on the Postgres that `global-set-up.ts` runs. Takes about 100 ms. */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { inject } from "vitest";
import { openDatabase } from "../shared/adapters/postgres.ts";
import { openListener } from "../shared/adapters/postgres-listen.ts";
import type { Database, Listener } from "../shared/db/database.ts";
import { memberships, organizations, users } from "../shared/db/identity-tables.ts";
import { newId } from "../shared/domain/identifier.ts";
import { templateName, withDatabase } from "./global-set-up.ts";
import { silentLog } from "./silent-log.ts";

export interface TestDatabase {
  db: Database;
  url: string;
  listener: Listener;
  /** Closes the connections and drops the database. */
  close(): Promise<void>;
}

export async function openTestDatabase(options: { max?: number } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  const server = inject("postgresUrl");
  await onServer(server, `create database ${name} template ${templateName}`);
  const url = withDatabase(server, name);
  const { db, close } = openDatabase({ url, log: silentLog, max: options.max ?? 10 });
  const listener = openListener({ url, log: silentLog });
  return {
    db,
    url,
    listener,
    close: async () => {
      await listener.close();
      await close();
      await onServer(server, `drop database ${name} with (force)`);
    },
  };
}

/** An organization with its owner. */
export async function seedOrganization(db: Database) {
  const organizationId = newId("organization");
  const userId = newId("user");
  await db.insert(users).values({ id: userId, email: `${userId}@example.com`, name: "Ada" });
  await db.insert(organizations).values({ id: organizationId, name: "Acme", primaryOwnerId: userId });
  await db.insert(memberships).values({ organizationId, userId, role: "owner" });
  return { organizationId, userId };
}

async function onServer(url: string, statement: string): Promise<void> {
  const { db, close } = openDatabase({ url, log: silentLog, max: 1 });
  await db.execute(sql.raw(statement)).finally(close);
}
