/**
 * LISTEN on one connection of its own for all channels: a pooled one would be taken away for good. It reconnects by
 * itself and then calls every listener once with null, since notifications of the gap are lost. A silent connection is
 * found out by a question every 30 s. Not for a pooler's address: sessions are not kept there.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Listener } from "../db/database.ts";
import type { Log } from "../ports/log.ts";

type OnMessage = (payload: string | null) => void;

export interface PostgresListener extends Listener {
  close(): Promise<void>;
}

const connectMs = 10_000;
const questionEveryMs = 30_000;
const questionMs = 5_000;
const retryMs = { first: 100, most: 5_000 };

export function openListener(options: { url: string; log: Log }): PostgresListener {
  const listeners = new Map<string, Set<OnMessage>>();
  const closing = new AbortController();
  let client: pg.Client | undefined;
  let running: Promise<void> | undefined;
  let asked: Promise<unknown> = Promise.resolve();

  return {
    listen(channel, onMessage, signal) {
      if (signal.aborted || closing.signal.aborted) return;
      const others = listeners.get(channel);
      if (others === undefined) {
        listeners.set(channel, new Set([onMessage]));
        if (client !== undefined) subscribe(client, channel, onMessage);
      } else {
        others.add(onMessage);
      }
      signal.addEventListener("abort", () => remove(channel, onMessage), { once: true });
      running ??= keepConnected();
    },
    async close() {
      closing.abort();
      listeners.clear();
      await client?.end().catch(ignoreBroken);
      await running;
    },
  };

  function remove(channel: string, onMessage: OnMessage): void {
    const rest = listeners.get(channel);
    rest?.delete(onMessage);
    if (rest?.size !== 0) return;
    listeners.delete(channel);
    if (client !== undefined) ask(client, `UNLISTEN ${pg.escapeIdentifier(channel)}`).catch(ignoreBroken);
  }

  async function keepConnected(): Promise<void> {
    let waitMs = retryMs.first;
    while (!closing.signal.aborted) {
      try {
        await connectAndHold(() => {
          waitMs = retryMs.first;
        });
      } catch (error) {
        if (closing.signal.aborted) return;
        options.log.warn({ error }, "the connection for notifications broke; connecting again");
      }
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal: closing.signal }).catch(
        ignoreBroken,
      );
      waitMs = Math.min(waitMs * 2, retryMs.most);
    }
  }

  /** Ends by throwing when the connection breaks. */
  async function connectAndHold(onConnected: () => void): Promise<void> {
    const next = new pg.Client({
      connectionString: options.url,
      application_name: "slipway-listen",
      connectionTimeoutMillis: connectMs,
      query_timeout: questionMs,
      keepAlive: true,
    });
    const broken = new Promise<never>((_, reject) => {
      next.on("error", reject);
      next.on("end", () => reject(new Error("The database closed the connection.")));
    });
    broken.catch(ignoreBroken);
    next.on("notification", ({ channel, payload }) => callAll(channel, payload ?? null));
    try {
      await next.connect();
      client = next;
      onConnected();
      for (const [channel, waiting] of listeners)
        for (const onMessage of waiting) subscribe(next, channel, onMessage);
      await Promise.race([broken, askNowAndThen(next)]);
    } finally {
      client = undefined;
      next.end().catch(ignoreBroken);
    }
  }

  /** Throws when an answer does not come. */
  async function askNowAndThen(whom: pg.Client): Promise<void> {
    while (!closing.signal.aborted) {
      await sleep(questionEveryMs, undefined, { ref: false, signal: closing.signal });
      await ask(whom, "SELECT 1");
    }
  }

  /** Called back once the subscription holds: what was written before must be looked up, what comes after is told. */
  function subscribe(on: pg.Client, channel: string, onMessage: OnMessage): void {
    ask(on, `LISTEN ${pg.escapeIdentifier(channel)}`).then(() => call(onMessage, null), ignoreBroken);
  }

  /** One question at a time: the driver gives up queueing them itself. */
  function ask(whom: pg.Client, question: string): Promise<unknown> {
    const answer = asked.then(() => whom.query(question));
    asked = answer.catch(ignoreBroken);
    return answer;
  }

  function callAll(channel: string, payload: string | null): void {
    for (const onMessage of listeners.get(channel) ?? []) call(onMessage, payload);
  }

  function call(onMessage: OnMessage, payload: string | null): void {
    try {
      onMessage(payload);
    } catch (error) {
      options.log.error({ error }, "a listener for notifications failed");
    }
  }
}

/** A broken connection is seen in one place, `connectAndHold`; what it breaks besides is no news. */
function ignoreBroken(): undefined {
  return undefined;
}
