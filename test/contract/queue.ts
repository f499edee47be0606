/** What every queue must do, whatever lies under it. Called by one test file for each adapter. */
import { expect, test } from "vitest";
import type { Queue, QueueMessage } from "../../shared/ports/queue.ts";

/** `open` is called more than once and always opens the same queue. */
export function queueContract(name: string, open: () => Promise<Queue>): void {
  const says = (sentence: string, body: (queue: Queue) => Promise<void>) =>
    test(`${name}: ${sentence}`, async () => {
      const queue = await open();
      await body(queue);
      await queue.close();
    });

  says("a message sent before anyone listens arrives once someone does", async (queue) => {
    const mine = ids("waiting", 1);
    await sendAll(queue, mine);
    const consumer = consume(queue, mine);
    await consumer.until(1);
    expect(consumer.handled).toEqual(mine);
  });

  says(
    "messages of one group are handled in order, one at a time, those of another beside them",
    async (queue) => {
      const [first, second] = [ids("first", 5), ids("second", 5)];
      const consumer = consume(queue, [...first, ...second], { concurrency: 4 });
      await Promise.all([sendAll(queue, first), sendAll(queue, second)]);
      await consumer.until(10);
      expect(consumer.handled.filter((id) => first.includes(id))).toEqual(first);
      expect(consumer.handled.filter((id) => second.includes(id))).toEqual(second);
      expect(consumer.mostAtOnce(first)).toBe(1);
    },
  );

  says(
    "a handler that throws gets the message again, told which attempt it is, and its group waits",
    async (queue) => {
      const mine = ids("again", 2);
      const consumer = consume(queue, mine, { failing: (id, attempt) => id === mine[0] && attempt < 3 });
      await sendAll(queue, mine);
      await consumer.until(2);
      expect(consumer.attempts).toEqual([
        [mine[0], 1],
        [mine[0], 2],
        [mine[0], 3],
        [mine[1], 1],
      ]);
    },
  );

  says("a message is given up after five attempts, and its group goes on", async (queue) => {
    const mine = ids("dead", 2);
    const consumer = consume(queue, mine, { failing: (id) => id === mine[0] });
    await sendAll(queue, mine);
    await consumer.until(1);
    expect(consumer.handled).toEqual([mine[1]]);
    const tried = consumer.attempts.filter(([id]) => id === mine[0]);
    expect(tried.map(([, attempt]) => attempt)).toEqual([1, 2, 3, 4, 5]);
    await expect.poll(() => queue.countDead("platform"), { timeout: 10_000 }).toBe(1);
    expect(consumer.givenUp).toEqual([[mine[0], new Error("not yet")]]);
  });

  says("a message is given up and its group goes on, also where telling of it fails", async (queue) => {
    const mine = ids("untold", 2);
    const telling = async () => {
      throw new Error("nobody listens");
    };
    const consumer = consume(queue, mine, { failing: (id) => id === mine[0], telling });
    await sendAll(queue, mine);
    await consumer.until(1);
    expect(consumer.handled).toEqual([mine[1]]);
    expect(consumer.givenUp).toHaveLength(1);
  });

  says("a delayed message does not come before its time", async (queue) => {
    const mine = ids("late", 1);
    const consumer = consume(queue, mine);
    const sentAtMs = performance.now();
    const [operationId = ""] = mine;
    await queue.send("platform", { operationId }, { group: "late", dedupe: operationId, delaySeconds: 1 });
    await consumer.until(1);
    expect(performance.now() - sentAtMs).toBeGreaterThan(900);
  });

  says(
    "closing tells the handler under way and waits for it; what is behind comes to the next",
    async (queue) => {
      const mine = ids("stop", 2);
      const begun = Promise.withResolvers<void>();
      const handled: string[] = [];
      const stop = new AbortController();
      const handler = async (message: QueueMessage, { signal }: { signal: AbortSignal }) => {
        begun.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        handled.push(message.operationId);
      };
      await queue.consume("platform", handler, { concurrency: 1, signal: stop.signal });
      await sendAll(queue, mine);
      await begun.promise;
      stop.abort();
      await queue.close();
      expect(handled).toEqual([mine[0]]);
      const reopened = await open();
      const rest = consume(reopened, mine);
      await rest.until(1);
      expect(rest.handled).toEqual([mine[1]]);
      await reopened.close();
    },
  );
}

let made = 0;
const ids = (word: string, count: number) => Array.from({ length: count }, () => `${word}-${++made}`);

/** All in one group. */
async function sendAll(queue: Queue, mine: string[]): Promise<void> {
  for (const operationId of mine) {
    await queue.send("platform", { operationId }, { group: mine[0] ?? "", dedupe: operationId });
  }
}

interface ConsumeMore {
  concurrency?: number;
  failing?: (id: string, attempt: number) => boolean;
  /** What being told of a given-up message does, beside keeping book. */
  telling?: () => Promise<void>;
}

/** Handles messages and keeps book. Ones that are not `mine` are a mistake of the queue. */
function consume(queue: Queue, mine: string[], more: ConsumeMore = {}) {
  const { concurrency = 1, failing = () => false, telling = async () => undefined } = more;
  const handled: string[] = [];
  const attempts: [string, number][] = [];
  const givenUp: [string, unknown][] = [];
  const spans: { id: string; from: number; to: number }[] = [];
  const waiting = new Set<() => void>();
  const handler = async ({ operationId: id }: QueueMessage, { attempt }: { attempt: number }) => {
    expect(mine).toContain(id);
    attempts.push([id, attempt]);
    const from = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    spans.push({ id, from, to: performance.now() });
    if (failing(id, attempt)) {
      throw new Error("not yet");
    }
    handled.push(id);
    for (const check of waiting) {
      check();
    }
  };
  const started = queue.consume("platform", handler, {
    concurrency,
    signal: new AbortController().signal,
    givenUp: async ({ operationId }, error) => {
      givenUp.push([operationId, error]);
      await telling();
    },
  });
  return {
    handled,
    attempts,
    givenUp,
    mostAtOnce: (of: string[]) => {
      const own = spans.filter((span) => of.includes(span.id));
      const at = (time: number) => own.filter((span) => span.from <= time && time < span.to).length;
      return Math.max(...own.map((span) => at(span.from)));
    },
    until: (count: number) =>
      new Promise<void>((resolve, reject) => {
        started.catch(reject);
        const check = () => {
          if (handled.length >= count) {
            waiting.delete(check);
            resolve();
          }
        };
        waiting.add(check);
        check();
      }),
  };
}
