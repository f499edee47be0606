/** The log under writers and readers at the same time, where readers leave and come back as browsers and CLIs do. */
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wallClock } from "../../../shared/adapters/clocks.ts";
import type { StoredEvent } from "../../../shared/operations/definition.ts";
import { readEvents } from "../../../shared/operations/event-log.ts";
import { createFeed, type Feed } from "../../../shared/operations/follow.ts";
import { change } from "../../../shared/operations/statements.ts";
import { silentLog } from "../../silent-log.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
/** A second platform on the same database: readers may come back to another one. */
let other: Feed;

beforeAll(async () => {
  stage = await openStage();
  other = createFeed({ db: stage.db, listener: stage.listener, clock: wallClock, log: silentLog });
});
afterAll(async () => {
  other.close();
  await stage.close();
});

/** Leaves after each number of pages and resumes behind the last seq it has seen, at one feed or the other. */
async function readWithBreaks(id: string, pages: readonly number[]): Promise<StoredEvent[]> {
  const seen: StoredEvent[] = [];
  for (let turn = 0; seen.at(-1)?.type !== "complete"; turn++) {
    const feed = turn % 2 === 0 ? stage.feed : other;
    let left = pages[turn] ?? Number.POSITIVE_INFINITY;
    for await (const page of feed.follow(id, seen.at(-1)?.seq ?? 0, AbortSignal.timeout(20_000))) {
      seen.push(...page);
      if (--left <= 0) break;
    }
  }
  return seen;
}

test("each reader sees each event once and in order, wherever it left and resumed", async () => {
  const writer = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
  const reader = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(writer, { minLength: 1, maxLength: 4 }),
      fc.array(reader, { minLength: 1, maxLength: 6 }),
      async (writers, readers) => {
        const id = await stage.create();
        const reading = readers.map((pages) => readWithBreaks(id, pages));
        const write = (events: { type: string; data: Record<string, unknown> }[]) =>
          change(stage.db, { set: sql`final = false`, where: sql`id = ${id}`, events });
        await Promise.all(
          writers.map(async (batches, name) => {
            for (const [batch, count] of batches.entries()) {
              const line = (_: unknown, index: number) => ({
                type: "log",
                data: { line: `${name} ${batch} ${index}` },
              });
              await write(Array.from({ length: count }, line));
            }
          }),
        );
        await change(stage.db, {
          set: sql`final = true`,
          where: sql`id = ${id}`,
          events: [{ type: "complete", data: { status: "done", error: null } }],
        });
        const stored = await readEvents(stage.db, { operationId: id, since: 0, limit: 100_000 });
        expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
        for (const seen of await Promise.all(reading)) expect(seen).toEqual(stored);
        // Of each writer, its own order.
        for (const name of writers.keys()) {
          const own = stored
            .map(({ data }) => String(data["line"]))
            .filter((line) => line.startsWith(`${name} `));
          const wanted = writers[name]?.flatMap((count, batch) =>
            Array.from({ length: count }, (_, index) => `${name} ${batch} ${index}`),
          );
          expect(own).toEqual(wanted);
        }
      },
    ),
    { numRuns: 20 },
  );
});
