/**
 * Server-sent events, for every stream of the API: frames that no text can break, comments that keep proxies awake, a
 * question every 10 s whether the reader may still read, and an end when he leaves or takes nothing any more. What goes
 * wrong behind the stream is logged and closes it; the reader resumes by `Last-Event-ID`. Rejected: hono's streamSSE
 * (it writes the message of an error into the stream).
 */
import type { Context } from "hono";
import { limits } from "../domain/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

export interface StreamEvent {
  /** For resuming. */
  id?: number;
  /** Lower-case words. */
  event: string;
  data: unknown;
}

export interface EventStreamOptions {
  /** Called once. `since`: what the reader has seen already, 0 at first. Must end when the signal aborts. */
  events: (since: number, signal: AbortSignal) => AsyncIterable<readonly StreamEvent[]>;
  /** Whether the reader may still read. A throw closes the stream too. */
  recheck: () => Promise<boolean>;
  clock: Clock;
  log: Log;
  /** Ends the stream when the process stops. */
  signal?: AbortSignal;
}

export function eventStream(c: Context, options: EventStreamOptions): Response {
  const ended = new AbortController();
  const gone = [c.req.raw.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const until = AbortSignal.any([ended.signal, ...gone]);
  const requestId: unknown = c.get("requestId");
  const since = sinceOf(c);
  let room = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const line: Line = {
          send: (text) => controller.enqueue(encoder.encode(text)),
          hasRoom: () => (controller.desiredSize ?? 0) > 0,
          room: () => room.promise,
        };
        line.send(": open\n\n");
        converse(line, since, until, options)
          .catch(
            (error: unknown) => until.aborted || options.log.error({ error, requestId }, "a stream broke"),
          )
          .finally(() => {
            ended.abort();
            close(controller);
          });
      },
      pull: () => {
        room.resolve();
        room = Promise.withResolvers<void>();
      },
      cancel: () => ended.abort(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: chunkBytes }),
  );
  return c.body(body, 200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
}

/** What of the stream was seen already: `?since=` or `Last-Event-ID`, whichever is further (a browser resends both). */
function sinceOf(c: Context): number {
  const seen = [c.req.query("since"), c.req.header("Last-Event-ID")].map((text) =>
    text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0,
  );
  return Math.max(...seen);
}

/** One event as it goes over the wire. JSON holds no line break, so nothing in `data` can end a frame. */
export function toFrame({ id, event, data }: StreamEvent): string {
  if (!/^[a-z][a-z_]*$/.test(event) || (id !== undefined && !Number.isSafeInteger(id))) {
    throw new Error("An event of a stream needs a plain name and a whole number as its id");
  }
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

const encoder = new TextEncoder();
const chunkBytes = 65_536;

interface Line {
  send(text: string): void;
  hasRoom(): boolean;
  room(): Promise<void>;
}

/** Ends with the first of: no more events, the reader may not read on, he takes nothing, he left. */
async function converse(
  line: Line,
  since: number,
  until: AbortSignal,
  options: EventStreamOptions,
): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([until, over.signal]);
  const left = new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  try {
    await Promise.race([
      left,
      sendAll(line, options.events(since, signal), signal, options.clock),
      askAgain(options, signal),
      comment(line, signal, options.clock),
    ]);
  } finally {
    over.abort();
  }
}

async function sendAll(
  line: Line,
  events: ReturnType<EventStreamOptions["events"]>,
  signal: AbortSignal,
  clock: Clock,
) {
  for await (const page of events) {
    let text = "";
    for (const event of page) {
      text += frameOf(event);
      if (text.length >= chunkBytes) {
        await waitForRoom(line, signal, clock);
        line.send(text);
        text = "";
      }
    }
    await waitForRoom(line, signal, clock);
    line.send(text);
  }
}

/** Rejects when the reader takes nothing for too long, or is gone. */
async function waitForRoom(line: Line, signal: AbortSignal, clock: Clock): Promise<void> {
  signal.throwIfAborted();
  if (line.hasRoom()) {
    return;
  }
  const waited = new AbortController();
  const stalled = clock.sleep(limits.streamStalledMs, AbortSignal.any([signal, waited.signal])).then(() => {
    throw new Error("The reader of a stream takes nothing any more");
  });
  await Promise.race([line.room(), stalled]).finally(() => waited.abort());
  stalled.catch(() => undefined);
}

async function askAgain({ recheck, clock }: EventStreamOptions, signal: AbortSignal): Promise<void> {
  for (let may = true; may; ) {
    await clock.sleep(limits.streamRecheckMs, signal);
    may = await Promise.race([recheck(), clock.sleep(limits.streamRecheckMs, signal).then(() => false)]);
  }
}

async function comment(line: Line, signal: AbortSignal, clock: Clock): Promise<never> {
  for (;;) {
    await clock.sleep(limits.streamCommentMs, signal);
    if (line.hasRoom()) {
      line.send(": still here\n\n");
    }
  }
}

/** Many readers get the same event object: its text is made once. */
const frames = new WeakMap<StreamEvent, string>();

function frameOf(event: StreamEvent): string {
  const known = frames.get(event);
  if (known !== undefined) {
    return known;
  }
  const frame = toFrame(event);
  frames.set(event, frame);
  return frame;
}

function close(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch (error) {
    // The reader has closed it himself.
    if (!(error instanceof TypeError)) {
      throw error;
    }
  }
}
