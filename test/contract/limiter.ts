/** What every limiter must do (spec.md "Limits"). `advance` makes time pass for it. */
import { expect, test } from "vitest";
import type { Limiter } from "../../shared/ports/limiter.ts";

const rule = { limit: 120, windowMs: 60_000 };

export function limiterContract(open: () => { limiter: Limiter; advance(ms: number): Promise<void> }): void {
  test("allows exactly the limit in a window, however many come at once, and again in the next", async () => {
    const { limiter, advance } = open();
    for (let window = 0; window < 2; window++) {
      const answers = await Promise.all(Array.from({ length: 300 }, () => limiter.take("one", rule)));
      const allowed = answers.filter((answer) => answer.allowed);
      expect(allowed).toHaveLength(120);
      expect(allowed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 120 }, (_, index) => index),
      );
      expect(await limiter.take("one", rule)).toMatchObject({ allowed: false, limit: 120, remaining: 0 });
      await advance(60_000);
    }
  });

  test("says when the window ends, which more tries do not put off", async () => {
    const { limiter, advance } = open();
    for (let take = 0; take < 130; take++) await limiter.take("end", rule);
    await advance(50_000);
    const { resetMs } = await limiter.take("end", rule);
    expect(resetMs).toBeGreaterThan(0);
    expect(resetMs).toBeLessThanOrEqual(10_000);
  });

  test("keeps keys apart", async () => {
    const { limiter } = open();
    for (let take = 0; take < 120; take++) await limiter.take("first", rule);
    expect((await limiter.take("first", rule)).allowed).toBe(false);
    expect((await limiter.take("second", rule)).allowed).toBe(true);
  });
}
