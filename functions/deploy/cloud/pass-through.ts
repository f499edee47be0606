/**
 * The answer of the cloud as the caller gets it: headers from a list, bodies unread but where ids are to be remembered.
 * A stream ends when the caller leaves, when the process stops, and when the caller may not read on, which is asked every
 * ten seconds as for streams of our own; it is taken up again by `Last-Event-ID`.
 */
import { limits } from "../../../shared/domain/limits.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { StreamedAnswer } from "../../../shared/ports/outgoing.ts";
import { unreachable } from "./cloud-line.ts";

/** Of requests: what the cloud has a use for. */
const passedOn = ["accept", "accept-language", "last-event-id"];
const passedBack = ["retry-after", "x-accel-buffering"];
/** A page of the cloud's would be a page of ours to a browser, with the reader's session. */
const types = ["application/json", "text/event-stream"];

export function headersToPass(given: Headers): Record<string, string> {
  return pick(passedOn, (name) => given.get(name) ?? undefined);
}

export function headersToReturn(answer: StreamedAnswer): Record<string, string> {
  const isStream = typeOf(answer) === "text/event-stream";
  return {
    ...pick(passedBack, (name) => answer.headers[name]),
    "content-type": isStream ? "text/event-stream; charset=utf-8" : "application/json",
    "cache-control": isStream ? "no-cache, no-transform" : "no-store",
  };
}

function typeOf({ headers }: StreamedAnswer): string {
  return headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function pick(names: readonly string[], value: (name: string) => string | undefined): Record<string, string> {
  const found = names.map((name) => [name, value(name)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export interface Watch {
  mayStillRead: () => Promise<boolean>;
  clock: Clock;
  /** Aborting it ends the request to the cloud. */
  over: AbortController;
}

export function passThrough(answer: StreamedAnswer, watch: Watch): Response {
  const { status } = answer;
  const type = typeOf(answer);
  // None of our routes has an answer without a body either.
  if (!types.includes(type) || status === 204 || status === 205) {
    watch.over.abort();
    throw unreachable("its answer is none of a Slipway");
  }
  const headers = headersToReturn(answer);
  const isStream = type === "text/event-stream";
  if (isStream) void askAgain(watch);
  return new Response(endingBody(answer.body, isStream, watch.over), { status, headers });
}

/** A stream that breaks off is closed, as our own are: it can be resumed. Any other body must not look whole. */
function endingBody(
  body: ReadableStream<Uint8Array>,
  isStream: boolean,
  over: AbortController,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          if (isStream) controller.close();
          else controller.error(error);
        }
        over.abort();
      },
      cancel: () => over.abort(),
    },
    { highWaterMark: 0 },
  );
}

async function askAgain({ mayStillRead, clock, over }: Watch): Promise<void> {
  try {
    for (let may = true; may; may = await mayStillRead()) {
      await clock.sleep(limits.streamRecheckMs, over.signal);
    }
  } catch {
    // Gone, or not to be asked: the stream ends either way.
  }
  over.abort();
}
