import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { operations } from "../../../shared/db/operation-tables.ts";
import type { StoredEvent } from "../../../shared/operations/definition.ts";
import { readEvents } from "../../../shared/operations/event-log.ts";
import { createFeed } from "../../../shared/operations/follow.ts";
import { change } from "../../../shared/operations/statements.ts";
import { manualClock } from "../../manual-clock.ts";
import { silentLog } from "../../silent-log.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const line = (text: string) => ({ type: "log", data: { line: text } });

/** Appends as any writer of the mechanism does. */
const append = (id: string, lines: string[]) =>
  change(stage.db, { set: sql`final = false`, where: sql`id = ${id}`, events: lines.map(line) });

const complete = (id: string) =>
  change(stage.db, {
    set: sql`final = true`,
    where: sql`id = ${id}`,
    events: [{ type: "complete", data: { status: "done", error: null } }],
  });

async function collect(
  id: string,
  since: number,
  signal = AbortSignal.timeout(20_000),
): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  for await (const page of stage.feed.follow(id, since, signal)) {
    all.push(...page);
  }
  return all;
}

const stored = (id: string, since = 0) => readEvents(stage.db, { operationId: id, since, limit: 100_000 });

test("seqs have no gaps under concurrent writers, and every reader sees all of them in order", async () => {
  const batches = fc.array(fc.array(fc.string(), { minLength: 1, maxLength: 30 }), {
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(batches, fc.nat({ max: 40 }), async (all, since) => {
      const id = await stage.create();
      const readers = [collect(id, 0), collect(id, since), collect(id, 0)];
      await Promise.all(all.map((lines) => append(id, lines)));
      await complete(id);
      const events = await stored(id);
      expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
      expect(events).toHaveLength(2 + all.flat().length);
      const seen = await Promise.all(readers);
      expect(seen[0]).toEqual(events);
      expect(seen[1]).toEqual(events.filter((event) => event.seq > since));
      expect(seen[2]).toEqual(events);
    }),
    { numRuns: 25 },
  );
});

test("text of any kind is stored as it is, but for what jsonb cannot hold", async () => {
  const id = await stage.create();
  await append(id, ["a\u0000b", "half \ud83d of a pair", "\u001b[1m ü 🚀 \\u0000 \" '"]);
  expect((await stored(id, 1)).map(({ data }) => data["line"])).toEqual([
    "a\uFFFDb",
    "half \uFFFD of a pair",
    "\u001b[1m ü 🚀 \\u0000 \" '",
  ]);
});

test("a long finished log replays in pages and ends", async () => {
  const id = await stage.create();
  for (let batch = 0; batch < 5; batch++) {
    await append(
      id,
      Array.from({ length: 700 }, (_, index) => `line ${batch * 700 + index}`),
    );
  }
  await complete(id);
  expect(await collect(id, 0)).toEqual(await stored(id));
  expect(await collect(id, 3_000)).toEqual(await stored(id, 3_000));
});

test("following a finished operation from its end, or from beyond, ends at once", async () => {
  const id = await stage.create();
  await complete(id);
  expect(await collect(id, 2)).toEqual([]);
  expect(await collect(id, 1_000)).toEqual([]);
});

test("following what does not exist ends at once", async () => {
  expect(await collect("op_none", 0)).toEqual([]);
});

test("a follower ends when its signal aborts, or the feed is closed", async () => {
  const id = await stage.create();
  const stop = new AbortController();
  const following = collect(id, 0, stop.signal);
  stop.abort();
  expect((await following).length).toBeLessThanOrEqual(1);
  const feed = createFeed({ db: stage.db, listener: stage.listener, clock: manualClock(), log: silentLog });
  const settled = feed.settled(id, AbortSignal.timeout(20_000));
  feed.close();
  expect(await settled).toBe(false);
});

test("where notifications get lost, a look a second finds the lines", async () => {
  const clock = manualClock();
  const feed = createFeed({ db: stage.db, listener: { listen: () => undefined }, clock, log: silentLog });
  const id = await stage.create();
  const seen: unknown[] = [];
  const following = (async () => {
    for await (const page of feed.follow(id, 1, AbortSignal.timeout(20_000))) {
      seen.push(...page.map(({ type }) => type));
    }
  })();
  await vi.waitFor(() => expect(clock.sleepers()).toBe(1));
  await append(id, ["one"]);
  await complete(id);
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(seen).toEqual(["log", "complete"]);
  });
  await following;
  feed.close();
});

test("a row that is removed ends its followers", async () => {
  const clock = manualClock();
  const feed = createFeed({ db: stage.db, listener: { listen: () => undefined }, clock, log: silentLog });
  const id = await stage.create();
  const settled = feed.settled(id, AbortSignal.timeout(20_000));
  await vi.waitFor(() => expect(clock.sleepers()).toBe(1));
  await stage.db.delete(operations).where(sql`id = ${id}`);
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(await Promise.race([settled, Promise.resolve("pending")])).toBe(true);
  });
  feed.close();
});

test("500 followers of one operation cost one read for a line, not 500", async () => {
  const id = await stage.create();
  let queries = 0;
  const db = new Proxy(stage.db, {
    get: (target, key) => {
      queries += key === "select" || key === "execute" ? 1 : 0;
      return Reflect.get(target, key) as unknown;
    },
  });
  const feed = createFeed({ db, listener: stage.listener, clock: manualClock(), log: silentLog });
  const counts = Array.from({ length: 500 }, () => 0);
  const arrivedMs: number[] = [];
  let sentAtMs = 0;
  const following = counts.map(async (_, index) => {
    for await (const page of feed.follow(id, 0, AbortSignal.timeout(20_000))) {
      counts[index] = (counts[index] ?? 0) + page.length;
      arrivedMs.push(performance.now() - sentAtMs);
    }
  });
  await vi.waitFor(() => expect(counts.every((count) => count === 1)).toBe(true));
  queries = 0;
  arrivedMs.length = 0;
  for (let index = 0; index < 20; index++) {
    sentAtMs = performance.now();
    await append(id, [`line ${index}`]);
    await vi.waitFor(() => expect(counts.every((count) => count === index + 2)).toBe(true), { interval: 1 });
  }
  expect(queries).toBeLessThan(60);
  await complete(id);
  await Promise.all(following);
  feed.close();
  const late = arrivedMs.sort((a, b) => a - b)[Math.floor(arrivedMs.length * 0.99)] ?? 0;
  console.log(
    `500 followers: p99 ${late.toFixed(1)} ms from append to follower, ${queries} queries for 20 lines`,
  );
});
