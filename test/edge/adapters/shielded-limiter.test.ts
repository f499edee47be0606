/** The shield before the exact count: floods of strangers end there, and nobody else notices it. */
import { expect, test } from "vitest";
import { createMemoryLimiter } from "../../../edge/adapters/memory-limiter.ts";
import { createShieldedLimiter } from "../../../edge/adapters/shielded-limiter.ts";

function shielded(most: number) {
  const asked: string[] = [];
  const exact: string[] = [];
  const behind = createMemoryLimiter(() => 0);
  const shield = { limit: async ({ key }: { key: string }) => ({ success: asked.push(key) <= most }) };
  const limiter = createShieldedLimiter(shield, {
    take: (key, rule) => {
      exact.push(key);
      return behind.take(key, rule);
    },
  });
  return { limiter, asked, exact };
}

const rule = { limit: 2, windowMs: 60_000 };

test("what the shield lets through is counted exactly", async () => {
  const { limiter } = shielded(10);
  const allowed = [];
  for (let take = 0; take < 4; take++) allowed.push((await limiter.take("webhook:1", rule)).allowed);
  expect(allowed).toEqual([true, true, false, false]);
});

test("what the shield stops never reaches the exact count, and is told to come back", async () => {
  const { limiter, exact } = shielded(3);
  for (let take = 0; take < 3; take++) await limiter.take("webhook:1", rule);
  expect(await limiter.take("webhook:1", rule)).toEqual({
    allowed: false,
    limit: 2,
    remaining: 0,
    resetMs: 60_000,
  });
  expect(exact).toHaveLength(3);
});

test("callers with a token are not asked by the shield, whose one figure is not theirs", async () => {
  const { limiter, asked } = shielded(0);
  expect((await limiter.take("token:tok_1", rule)).allowed).toBe(true);
  expect(asked).toEqual([]);
});
