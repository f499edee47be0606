/** What is asked for at the same time goes together, and each gets the answer of its own. */
import { expect, test } from "vitest";
import { inBatches } from "../../../shared/db/in-batches.ts";

function recorded(fails: (items: readonly number[]) => boolean = () => false) {
  const runs: number[][] = [];
  const run = async (items: readonly number[]) => {
    runs.push([...items]);
    if (fails(items)) throw new Error(`refused ${items.join(" ")}`);
    return items.map((item) => item * 10);
  };
  return { runs, run };
}

test("what comes in one tick is one batch, and each gets its own answer", async () => {
  const { runs, run } = recorded();
  const ask = inBatches(run, 10);
  expect(await Promise.all([1, 2, 3].map(ask))).toEqual([10, 20, 30]);
  expect(runs).toEqual([[1, 2, 3]]);
});

test("no batch is larger than its bound", async () => {
  const { runs, run } = recorded();
  expect(await Promise.all([1, 2, 3, 4, 5].map(inBatches(run, 2)))).toEqual([10, 20, 30, 40, 50]);
  expect(runs).toEqual([[1, 2], [3, 4], [5]]);
});

test("what comes while a batch is under way goes with the next one, never with that one", async () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const runs: number[][] = [];
  const ask = inBatches(async (items: readonly number[]) => {
    runs.push([...items]);
    begun.resolve();
    if (runs.length === 1) await end.promise;
    return items;
  }, 10);
  const first = ask(1);
  await begun.promise;
  const later = Promise.all([ask(2), ask(3)]);
  expect(runs).toEqual([[1]]);
  end.resolve();
  expect([await first, await later]).toEqual([1, [2, 3]]);
  expect(runs).toEqual([[1], [2, 3]]);
});

test("the failure of one is told to that one alone", async () => {
  const { run } = recorded((items) => items.includes(2));
  const answers = await Promise.allSettled([1, 2, 3].map(inBatches(run, 10)));
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(answers[1]).toMatchObject({ reason: new Error("refused 2") });
});

test("after a failure it goes on", async () => {
  let isDown = true;
  const ask = inBatches(recorded(() => isDown).run, 10);
  await expect(Promise.all([1, 2].map(ask))).rejects.toThrow("refused");
  isDown = false;
  expect(await ask(3)).toBe(30);
});
