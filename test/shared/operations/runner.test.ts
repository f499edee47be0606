import { afterAll, beforeAll, expect, test } from "vitest";
import { operations } from "../../../shared/db/schema.ts";
import { readEvents } from "../../../shared/operations/event-log.ts";
import { createRunner } from "../../../shared/operations/runner.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../../database.ts";
import { manualClock } from "../../manual-clock.ts";
import { silentLog } from "../../silent-log.ts";
import { createDemo, demoKind } from "./demo-kind.ts";

let database: TestDatabase;
let organizationId: string;

beforeAll(async () => {
  database = await openTestDatabase();
  ({ organizationId } = await seedOrganization(database.db));
});
afterAll(() => database.close());

test("an operation runs to its end and says so in its log", async () => {
  const { db, listener } = database;
  const runner = createRunner({
    db,
    listener,
    kinds: [demoKind()],
    owner: "a",
    concurrency: 2,
    clock: manualClock(),
    log: silentLog,
  });
  const id = await createDemo(db, organizationId);
  expect(await runner.handle(id)).toBe("started");
  await runner.idle();
  const events = await readEvents(db, { operationId: id, since: 0, limit: 100 });
  expect(events.map(({ seq, type, data }) => [seq, type, data])).toEqual([
    [1, "status", { status: "queued" }],
    [2, "status", { status: "working" }],
    [3, "status", { status: "done" }],
    [4, "complete", { status: "done", error: null }],
  ]);
  const [row] = await db.select().from(operations);
  expect(row).toMatchObject({ state: "done", final: true, inFlight: false, leaseOwner: null });
});
