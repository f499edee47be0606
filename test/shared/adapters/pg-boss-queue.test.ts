import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgBossQueue } from "../../../shared/adapters/pg-boss-queue.ts";
import { queueContract } from "../../contract/queue.ts";
import { openTestDatabase, type TestDatabase } from "../../database.ts";
import { silentLog } from "../../silent-log.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

queueContract("pg-boss", () =>
  createPgBossQueue({ url: database.url, log: silentLog, pollSeconds: 0.5, retrySeconds: 0 }),
);

test("a message sent in the same process is handled at once, not at the next poll", async () => {
  const queue = await createPgBossQueue({ url: database.url, log: silentLog, pollSeconds: 60 });
  let arrived = Promise.withResolvers<number>();
  await queue.consume("deploy", async () => arrived.resolve(performance.now()), {
    concurrency: 2,
    signal: new AbortController().signal,
  });
  const tookMs: number[] = [];
  for (let round = 0; round < 20; round++) {
    const sentAtMs = performance.now();
    await queue.send("deploy", { operationId: `op-${round}` }, { group: "g", dedupe: `op-${round}` });
    tookMs.push((await arrived.promise) - sentAtMs);
    arrived = Promise.withResolvers();
  }
  await queue.close();
  const median = tookMs.sort((a, b) => a - b)[10] ?? Number.POSITIVE_INFINITY;
  console.log(`send to handler: median ${median.toFixed(1)} ms, most ${tookMs.at(-1)?.toFixed(1)} ms`);
  expect(median).toBeLessThan(100);
});
