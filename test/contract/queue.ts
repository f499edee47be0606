/** What every queue must do, whatever lies under it. Called by one test file for each adapter. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Queue, QueueMessage } from "../../shared/ports/queue.ts";

export interface OpenedQueue {
  queue: Queue;
  close(): Promise<void>;
}

export function queueContract(name: string, open: () => Promise<OpenedQueue>): void {
  let opened: OpenedQueue;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  const says = (sentence: string, body: (queue: Queue) => Promise<void>) =>
    test(`${name}: ${sentence}`, () => body(opened.queue));

  says("a message sent before anyone listens arrives once someone does", async (queue) => {
    const mine = ids("waiting", 1);
    await sendAll(queue, mine);
    const consumer = consume(queue, mine);
    await consumer.until(1);
    expect(consumer.handled).toEqual(mine);
    await consumer.stop();
  });

  says(
    "messages of one group are handled in order and one at a time, those of another beside them",
    async (queue) => {
      const [first, second] = [ids("first", 5), ids("second", 5)];
      const consumer = consume(queue, [...first, ...second], { concurrency: 4 });
      await Promise.all([sendAll(queue, first, "group-1"), sendAll(queue, second, "group-2")]);
      await consumer.until(10);
      expect(consumer.handled.filter((id) => first.includes(id))).toEqual(first);
      expect(consumer.handled.filter((id) => second.includes(id))).toEqual(second);
      expect(consumer.mostAtOnce("group-1", first)).toBe(1);
      await consumer.stop();
    },
  );

  says(
    "a handler that throws gets the message again, told which attempt it is, and its group waits",
    async (queue) => {
      const mine = ids("again", 2);
      const consumer = consume(queue, mine, { failUntil: (id, attempt) => id === mine[0] && attempt < 3 });
      await sendAll(queue, mine, "again");
      await consumer.until(2);
      expect(consumer.attempts).toEqual([
        [mine[0], 1],
        [mine[0], 2],
        [mine[0], 3],
        [mine[1], 1],
      ]);
      await consumer.stop();
    },
  );

  says("a message is given up after five attempts, and its group goes on", async (queue) => {
    const mine = ids("dead", 2);
    const consumer = consume(queue, mine, { failUntil: (id) => id === mine[0] });
    await sendAll(queue, mine, "dead");
    await consumer.until(1);
    expect(consumer.handled).toEqual([mine[1]]);
    expect(consumer.attempts.filter(([id]) => id === mine[0]).map(([, attempt]) => attempt)).toEqual([
      1, 2, 3, 4, 5,
    ]);
    await consumer.stop();
  });

  says("a delayed message does not come before its time", async (queue) => {
    const mine = ids("late", 1);
    const consumer = consume(queue, mine);
    const sentAtMs = performance.now();
    await queue.send(
      "platform",
      { operationId: mine[0] ?? "" },
      { group: "late", dedupe: "late", delaySeconds: 1 },
    );
    await consumer.until(1);
    expect(performance.now() - sentAtMs).toBeGreaterThan(900);
    await consumer.stop();
  });

  says(
    "once the signal aborts, the handler under way is told, waited for, and nothing else is handled",
    async (queue) => {
      const mine = ids("stop", 2);
      const begun = Promise.withResolvers<void>();
      const handled: string[] = [];
      const stop = new AbortController();
      const consuming = queue.consume(
        "platform",
        async (message, { signal }) => {
          begun.resolve();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          handled.push(message.operationId);
        },
        { concurrency: 1, signal: stop.signal },
      );
      await sendAll(queue, mine, "stop");
      await begun.promise;
      stop.abort();
      await consuming;
      expect(handled).toEqual([mine[0]]);
      const rest = consume(queue, mine);
      await rest.until(1);
      expect(rest.handled).toEqual([mine[1]]);
      await rest.stop();
    },
  );
}

let made = 0;
const ids = (word: string, count: number) => Array.from({ length: count }, () => `${word}-${++made}`);

async function sendAll(queue: Queue, mine: string[], group = mine[0] ?? "group"): Promise<void> {
  for (const operationId of mine) {
    await queue.send("platform", { operationId }, { group, dedupe: operationId });
  }
}

interface ConsumeMore {
  concurrency?: number;
  failUntil?: (id: string, attempt: number) => boolean;
}

/** Handles messages and keeps book. Ones that are not `mine` are a mistake of the queue. */
function consume(
  queue: Queue,
  mine: string[],
  { concurrency = 1, failUntil = () => false }: ConsumeMore = {},
) {
  const stop = new AbortController();
  const handled: string[] = [];
  const attempts: [string, number][] = [];
  const spans: { id: string; from: number; to: number }[] = [];
  const waiting = new Set<() => void>();
  const handler = async ({ operationId: id }: QueueMessage, { attempt }: { attempt: number }) => {
    expect(mine).toContain(id);
    attempts.push([id, attempt]);
    const from = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    spans.push({ id, from, to: performance.now() });
    if (failUntil(id, attempt)) {
      throw new Error("not yet");
    }
    handled.push(id);
    for (const check of waiting) {
      check();
    }
  };
  const consuming = queue.consume("platform", handler, { concurrency, signal: stop.signal });
  return {
    handled,
    attempts,
    mostAtOnce: (_group: string, of: string[]) => {
      const own = spans.filter((span) => of.includes(span.id));
      const at = (time: number) => own.filter((span) => span.from <= time && time < span.to).length;
      return Math.max(...own.map((span) => at(span.from)));
    },
    until: (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (handled.length >= count) {
            waiting.delete(check);
            resolve();
          }
        };
        waiting.add(check);
        check();
      }),
    stop: async () => {
      stop.abort();
      await consuming;
    },
  };
}
