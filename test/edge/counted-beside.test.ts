/** A read is forwarded while it is counted, where its caller has room; what holds is the count all the same. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { LimitAnswer, Limiter } from "../../shared/ports/limiter.ts";
import { openTestDatabase, seedOrganization, type TestDatabase } from "../database.ts";
import { edgeUnderTest, seedToken, testOnNode } from "./edge-under-test.ts";

let database: TestDatabase;
let token: string;

beforeAll(async () => {
  database = await openTestDatabase();
  ({ token } = await seedToken(database.db, await seedOrganization(database.db)));
});
afterAll(() => database.close());

const windowMs = 60_000;
const limit = 10;

/** Counts when it is told to. */
function slowLimiter() {
  const waiting: { answer(remaining: number): void; fail(error: Error): void }[] = [];
  const limiter: Limiter = {
    take: () =>
      new Promise<LimitAnswer>((resolve, reject) => {
        waiting.push({
          answer: (remaining) =>
            resolve({
              ...{ allowed: remaining >= 0, limit },
              ...{ remaining: Math.max(0, remaining), resetMs: windowMs },
            }),
          fail: reject,
        });
      }),
  };
  const next = async () => {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    return waiting.shift() ?? Promise.reject(new Error("nothing waits"));
  };
  return { limiter, next, waiting };
}

/** An edge that has counted the caller once. */
async function afterOne(remaining: number, overrides: Parameters<typeof edgeUnderTest>[1] = {}) {
  const { limiter, next, waiting } = slowLimiter();
  const edge = edgeUnderTest(database.db, { limiter, apiLimitPerMinute: limit, ...overrides });
  const read = () => edge.send("/api/projects", { token });
  const first = read();
  const counting = await next();
  expect(edge.reached).toEqual([]);
  counting.answer(remaining);
  await first;
  edge.reached.length = 0;
  return { edge, read, next, waiting };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

describe("of a caller who has used less than half of the limit", () => {
  testOnNode("a read reaches the function while it is counted, and is answered when it is", async () => {
    const { edge, read, next } = await afterOne(9);
    let answered = false;
    const reading = read().finally(() => {
      answered = true;
    });
    await expect.poll(() => edge.reached.length).toBe(1);
    await soon();
    expect(answered).toBe(false);
    (await next()).answer(8);
    const answer = await reading;
    expect([answer.status, answer.headers.get("ratelimit-remaining")]).toEqual([200, "8"]);
  });

  testOnNode("a read that was one too many is 429, with nothing of the function's answer", async () => {
    let signal: AbortSignal | undefined;
    const { read, next } = await afterOne(9, {
      forwarder: {
        forward: async (_module, request) => {
          signal = request.signal;
          return Response.json({ data: "secret" }, { headers: { etag: "secret" } });
        },
      },
    });
    signal = undefined;
    const reading = read();
    await expect.poll(() => signal).toBeDefined();
    (await next()).answer(-1);
    const answer = await reading;
    expect([answer.status, answer.headers.get("etag")]).toEqual([429, null]);
    expect(answer.headers.get("ratelimit-remaining")).toBe("0");
    expect(await answer.text()).not.toContain("secret");
  });

  testOnNode("a refused read ends the work behind it at once, and lets go of what comes late", async () => {
    let signal: AbortSignal | undefined;
    let come: (answer: Response) => void = () => undefined;
    let letGo = false;
    let isFirst = true;
    const { read, next } = await afterOne(9, {
      forwarder: {
        forward: (_module, request) => {
          if (isFirst) {
            isFirst = false;
            return Promise.resolve(Response.json({}));
          }
          signal = request.signal;
          return new Promise((resolve) => {
            come = resolve;
          });
        },
      },
    });
    const reading = read();
    await expect.poll(() => signal).toBeDefined();
    (await next()).answer(-1);
    expect((await reading).status).toBe(429);
    expect(signal?.aborted).toBe(true);
    const cancel = () => {
      letGo = true;
    };
    come(new Response(new ReadableStream({ cancel })));
    await expect.poll(() => letGo).toBe(true);
  });

  testOnNode("a count that fails is the answer, and not what the function said", async () => {
    const { edge, read, next } = await afterOne(9);
    const reading = read();
    await expect.poll(() => edge.reached.length).toBe(1);
    (await next()).fail(new Refusal("unavailable", "not_counted", "The database does not answer."));
    const answer = await reading;
    expect([answer.status, await answer.json()]).toMatchObject([503, { code: "not_counted" }]);
  });

  testOnNode("a write and a stream reach the function only when they are counted", async () => {
    const { edge, next } = await afterOne(9);
    const json = { "content-type": "application/json" };
    for (const [path, init] of [
      ["/api/projects", { method: "POST", body: "{}", headers: json }],
      ["/api/deployments/dep_1/stream", {}],
    ] as const) {
      const sent = edge.send(path, { ...init, token });
      const counting = await next();
      await soon();
      expect(edge.reached).toEqual([]);
      counting.answer(8);
      expect((await sent).status).toBe(200);
      edge.reached.length = 0;
    }
  });

  testOnNode("of many reads at once only as many begin as leave half of the limit", async () => {
    const { edge, read, next, waiting } = await afterOne(9);
    const reading = Array.from({ length: 20 }, read);
    await expect.poll(() => waiting.length).toBe(20);
    await soon();
    expect(edge.reached).toHaveLength(4);
    for (let count = 0; count < 20; count++) (await next()).answer(8 - count);
    const statuses = (await Promise.all(reading)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(9);
    expect(edge.reached).toHaveLength(9);
  });
});

describe("of a caller who has used half of the limit", () => {
  testOnNode("a read waits for its count, until the window is over", async () => {
    const { edge, read, next } = await afterOne(5);
    const one = read();
    const counting = await next();
    await soon();
    expect(edge.reached).toEqual([]);
    counting.answer(4);
    await one;
    edge.reached.length = 0;
    await edge.clock.advance(windowMs);
    const other = read();
    await expect.poll(() => edge.reached.length).toBe(1);
    (await next()).answer(9);
    expect((await other).status).toBe(200);
  });
});
