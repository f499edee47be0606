/**
 * Server-sent events as the client reads them. A stream that is cut off is opened again behind the last event that was
 * seen, with growing pauses; one that said `complete` is over. The parser is a library: line ends, fields and chunk
 * borders of the format have been got wrong often enough.
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";

export interface ServerEvent {
  /** null where the stream gives none. */
  id: string | null;
  event: string;
  /** Parsed from JSON; the text itself where it is none. */
  data: unknown;
}

export interface EventSource {
  open(lastEventId: string | null): Promise<Response>;
  /** Whether a failure to open it again is worth another try. A failure the first time is thrown as it is. */
  mayPass(error: unknown): boolean;
  /** False where opening it again would start something: then a cut ends the reading. */
  resumes: boolean;
  signal: AbortSignal;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;
/** About a minute of silence from the platform: longer than an upgrade takes. */
const mostFailures = 15;

export async function* readEvents(source: EventSource): AsyncGenerator<ServerEvent, void, undefined> {
  let lastEventId: string | null = null;
  let failures = 0;
  let answer = await source.open(lastEventId);
  for (;;) {
    try {
      for await (const event of eventsOf(answer)) {
        failures = 0;
        lastEventId = event.id ?? lastEventId;
        yield event;
        if (event.event === "complete") return;
      }
    } catch (error) {
      source.signal.throwIfAborted();
      if (!(error instanceof Cut)) throw error;
    }
    if (!source.resumes) throw new StreamCut();
    do {
      failures += 1;
      if (failures > mostFailures) throw new StreamCut();
      await pause(Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs), source.signal);
    } while (!(await reopened()));
  }

  async function reopened(): Promise<boolean> {
    try {
      answer = await source.open(lastEventId);
      return true;
    } catch (error) {
      source.signal.throwIfAborted();
      if (!source.mayPass(error)) throw error;
      return false;
    }
  }
}

/** The stream ended before it was complete, and did not come back. */
export class StreamCut extends Error {
  constructor() {
    super("The stream was cut off before it was complete.");
    this.name = "StreamCut";
  }
}

/** The connection broke while events were coming. */
class Cut extends Error {}

async function* eventsOf(answer: Response): AsyncGenerator<ServerEvent, void, undefined> {
  if (answer.body === null) return;
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event) });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new Cut("the stream was cut off", { cause });
      });
      if (done) return;
      parser.feed(value);
      for (const event of ready.splice(0)) {
        yield { id: event.id ?? null, event: event.event ?? "message", data: parsed(event.data) };
      }
    }
  } finally {
    // Leaving early ends the request; there is nobody left to tell if that fails.
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (error) {
    if (error instanceof SyntaxError) return data;
    throw error;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
