/** The limiter of one process: exact, and bounded whoever comes (spec.md "Limits"). */
import { expect, test } from "vitest";
import { createMemoryLimiter } from "../../edge/adapters/memory-limiter.ts";
import { limiterContract } from "../contract/limiter.ts";

limiterContract(() => {
  let nowMs = 0;
  const advance = async (ms: number) => {
    nowMs += ms;
  };
  return { limiter: createMemoryLimiter(() => nowMs), advance };
});

const rule = { limit: 120, windowMs: 60_000 };

test("ends a window to the millisecond", async () => {
  let nowMs = 0;
  const limiter = createMemoryLimiter(() => nowMs);
  for (let window = 0; window < 3; window++) {
    const answers = await Promise.all(Array.from({ length: 500 }, () => limiter.take("one", rule)));
    expect(answers.filter((answer) => answer.allowed)).toHaveLength(120);
    expect(answers[119]).toEqual({ allowed: true, limit: 120, remaining: 0, resetMs: 60_000 });
    nowMs += 59_999;
    expect(await limiter.take("one", rule)).toMatchObject({ allowed: false, resetMs: 1 });
    nowMs += 1;
  }
});

test("forgets the oldest of too many, and only those", async () => {
  const limiter = createMemoryLimiter(() => 0, 10);
  for (let key = 0; key < 10; key++) {
    for (let take = 0; take < 120; take++) await limiter.take(`key-${key}`, rule);
  }
  await limiter.take("one more", rule);
  expect((await limiter.take("key-1", rule)).allowed).toBe(false);
  expect((await limiter.take("key-0", rule)).allowed).toBe(true);
});
