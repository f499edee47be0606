/**
 * Joins what is asked for at the same time into one statement, and so into one round trip and one commit: what comes
 * in one tick goes together, what comes while a batch is under way makes up the next one. A batch that fails is run
 * again item by item, so that nobody is told about the mistake of another. There is nothing to flush at an end: whoever
 * asks waits for the answer. Rejected: waiting some milliseconds for company (a lone caller would pay for it), and
 * joining a batch that has begun (its statement may have looked before the caller came).
 */
interface Asked<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** `run` answers one result for each item, in their order, and may be asked for an item again after it has thrown. */
export function inBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  most: number,
): (item: Item) => Promise<Result> {
  let waiting: Asked<Item, Result>[] = [];
  let running = false;

  const runAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
      await answer(run, batch);
    }
    running = false;
  };

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (running) return;
      running = true;
      setImmediate(runAll);
    });
}

export type Gather = typeof inBatches;

/** For a runtime in which one request may not wait for the work of another. */
export function oneByOne<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  return async (item) => {
    const [result] = await run([item]);
    return result as Result;
  };
}

/** Never rejects. */
async function answer<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  batch: readonly Asked<Item, Result>[],
): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item));
    if (results.length !== batch.length) throw new Error("A batch needs one result for each of its items.");
    for (const [index, each] of batch.entries()) each.resolve(results[index] as Result);
  } catch (error) {
    if (batch.length === 1) batch[0]?.reject(error);
    else await Promise.all(batch.map((each) => answer(run, [each])));
  }
}
