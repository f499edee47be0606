/** The limiter of several processes: exact by the database's clock, on both drivers. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openNeon } from "../../../shared/adapters/neon-http.ts";
import { createPostgresLimiter, forgetOldWindows } from "../../../shared/adapters/postgres-limiter.ts";
import { rateWindows } from "../../../shared/db/request-tables.ts";
import { limiterContract } from "../../contract/limiter.ts";
import { openTestDatabase, type TestDatabase } from "../../database.ts";
import { withDatabase } from "../../global-set-up.ts";
import { type NeonProxy, startNeonProxy } from "../../neon-proxy.ts";

let database: TestDatabase;
let neon: NeonProxy;
beforeAll(async () => {
  database = await openTestDatabase();
  neon = await startNeonProxy((name) => withDatabase(inject("postgresUrl"), name));
});
afterAll(async () => {
  await neon.close();
  await database.close();
});

async function advance(ms: number): Promise<void> {
  await database.db
    .update(rateWindows)
    .set({ endsAt: sql`${rateWindows.endsAt} - make_interval(secs => ${ms / 1000})` });
}

describe("through pg", () => {
  limiterContract(() => ({ limiter: createPostgresLimiter(database.db), advance }));
});

describe("through Neon's driver", () => {
  limiterContract(() => {
    const url = `postgres://edge:secret@neon.test${new URL(database.url).pathname}`;
    const { db } = openNeon({ url, endpoint: neon.endpoint });
    const limiter = createPostgresLimiter(db);
    return { limiter: { take: (key, rule) => limiter.take(`neon ${key}`, rule) }, advance };
  });
});

test("windows that are over are forgotten", async () => {
  await advance(120_000);
  await createPostgresLimiter(database.db).take("present", { limit: 1, windowMs: 60_000 });
  await forgetOldWindows(database.db);
  expect(await database.db.select({ key: rateWindows.key }).from(rateWindows)).toEqual([{ key: "present" }]);
});
