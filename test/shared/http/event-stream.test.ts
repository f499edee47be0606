import { serve } from "@hono/node-server";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import fc from "fast-check";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { limits } from "../../../shared/domain/limits.ts";
import {
  type EventStreamOptions,
  eventStream,
  type StreamEvent,
  toFrame,
} from "../../../shared/http/event-stream.ts";
import { manualClock } from "../../manual-clock.ts";
import { type LogLine, recordingLog } from "../../silent-log.ts";

/** An app with one stream, and what happens behind it. */
function appOf(events: EventStreamOptions["events"], more: Partial<EventStreamOptions> = {}) {
  const clock = manualClock();
  const lines: LogLine[] = [];
  const app = new Hono().get("/stream", (c) =>
    eventStream(c, { events, recheck: async () => true, clock, log: recordingLog(lines), ...more }),
  );
  return { app, clock, lines };
}

/** Events that the test sends one by one. */
function hand() {
  const queue: (StreamEvent[] | "end")[] = [];
  let wake = () => {};
  const ended = Promise.withResolvers<void>();
  const sinces: number[] = [];
  async function* events(since: number, signal: AbortSignal): AsyncGenerator<StreamEvent[]> {
    sinces.push(since);
    signal.addEventListener("abort", () => wake(), { once: true });
    try {
      while (!signal.aborted) {
        const page = queue.shift();
        if (page === "end") {
          return;
        }
        if (page === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else {
          yield page;
        }
      }
    } finally {
      ended.resolve();
    }
  }
  const put = (page: StreamEvent[] | "end") => {
    queue.push(page);
    wake();
  };
  return {
    events,
    sinces,
    ended: ended.promise,
    send: (...page: StreamEvent[]) => put(page),
    end: () => put("end"),
  };
}

function parse(text: string): EventSourceMessage[] {
  const messages: EventSourceMessage[] = [];
  createParser({ onEvent: (message) => messages.push(message) }).feed(text);
  return messages;
}

test("events arrive with id, name and data, and the stream ends after the last", async () => {
  const { events, send, end } = hand();
  const { app } = appOf(events);
  send({ id: 1, event: "status", data: { status: "queued" } }, { id: 2, event: "log", data: { line: "a" } });
  end();
  const response = await app.request("/stream");
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toContain("no-transform");
  expect(parse(await response.text())).toEqual([
    { id: "1", event: "status", data: '{"status":"queued"}' },
    { id: "2", event: "log", data: '{"line":"a"}' },
  ]);
});

test("no text in the data can break a frame or add a field", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\n", "\r", "\r\n", "\n\nevent: complete\ndata: {}\n\n"),
      (text, poison) => {
        const data = { line: `${text}${poison}${text}` };
        const messages = parse(toFrame({ id: 7, event: "log", data }));
        expect(messages).toHaveLength(1);
        expect(JSON.parse(messages[0]?.data ?? "")).toEqual(data);
      },
    ),
  );
});

test("a name that is no plain word is a bug, not a frame", () => {
  expect(() => toFrame({ event: "a\nb", data: {} })).toThrow();
  expect(() => toFrame({ id: Number.NaN, event: "log", data: {} })).toThrow();
});

test.each([
  ["", {}, 0],
  ["?since=5", {}, 5],
  ["", { "Last-Event-ID": "9" }, 9],
  ["?since=5", { "Last-Event-ID": "9" }, 9],
  ["?since=12", { "Last-Event-ID": "9" }, 12],
  ["", { "Last-Event-ID": "nonsense" }, 0],
])("`%s` with %j resumes after %i", async (query, headers, since) => {
  const { events, sinces, end } = hand();
  end();
  const response = await appOf(events).app.request(`/stream${query}`, { headers });
  await response.text();
  expect(sinces).toEqual([since]);
});

test("a comment every 15 s keeps an idle stream open", async () => {
  const { events, end } = hand();
  const { app, clock } = appOf(events);
  const response = await app.request("/stream");
  await clock.advance(limits.streamCommentMs);
  await clock.advance(limits.streamCommentMs);
  end();
  expect((await response.text()).match(/^: still here$/gm)).toHaveLength(2);
});

test("a reader who may not read any more is cut off at the next check, and what feeds him ends", async () => {
  const { events, send, ended } = hand();
  let may = true;
  const { app, clock } = appOf(events, { recheck: async () => may });
  const response = await app.request("/stream");
  await clock.advance(limits.streamRecheckMs);
  send({ id: 1, event: "log", data: { line: "still allowed" } });
  may = false;
  await clock.advance(limits.streamRecheckMs);
  expect(parse(await response.text())).toHaveLength(1);
  await ended;
});

test.each([
  ["throws", async () => Promise.reject(new Error("secret of the database"))],
  ["never answers", () => new Promise<boolean>(() => {})],
])("a check that %s closes the stream", async (_, recheck) => {
  const { events, ended } = hand();
  const { app, clock } = appOf(events, { recheck });
  const response = await app.request("/stream");
  await clock.advance(2 * limits.streamRecheckMs);
  expect(await response.text()).not.toContain("secret");
  await ended;
});

test("what goes wrong behind the stream is logged, never shown", async () => {
  const { app, lines } = appOf(async function* () {
    yield [{ id: 1, event: "log", data: {} }];
    throw new Error("password authentication failed for user slipway");
  });
  const text = await (await app.request("/stream")).text();
  expect(text).not.toContain("password");
  expect(parse(text).map(({ event }) => event)).toEqual(["log"]);
  expect(lines).toContainEqual(expect.objectContaining({ level: "error" }));
});

test("a process that stops ends its streams", async () => {
  const { events, ended } = hand();
  const stopping = new AbortController();
  const { app } = appOf(events, { signal: stopping.signal });
  const response = await app.request("/stream");
  stopping.abort();
  await response.text();
  await ended;
});

test("a reader who leaves ends what feeds him", async () => {
  const { events, send, ended } = hand();
  const { app } = appOf(events);
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const leave = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/stream`, { signal: leave.signal });
  send({ id: 1, event: "log", data: { line: "hello" } });
  const reader = response.body?.getReader();
  await reader?.read();
  leave.abort();
  await ended;
  await new Promise((resolve) => server.close(resolve));
});

test("a slow reader is not run over: nothing is fetched that he has not taken, and a dead one is cut off", async () => {
  let pages = 0;
  const line = "x".repeat(10_000);
  const finished = Promise.withResolvers<void>();
  const { app, clock, lines } = appOf(async function* (_, signal) {
    try {
      while (!signal.aborted) {
        pages++;
        yield Array.from({ length: 10 }, (_, index) => ({ id: index, event: "log", data: { line } }));
      }
    } finally {
      finished.resolve();
    }
  });
  const response = await app.request("/stream");
  const reader = response.body?.getReader();
  for (let read = 1; read <= 6; read++) {
    await reader?.read();
    await new Promise((resolve) => setImmediate(resolve));
    expect(pages).toBeLessThanOrEqual(read);
  }
  expect(pages).toBeGreaterThan(2);
  await clock.advance(limits.streamStalledMs);
  await finished.promise;
  expect(lines).toContainEqual(expect.objectContaining({ message: "a stream broke" }));
  await reader?.cancel();
});
