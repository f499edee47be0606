/**
 * Stores the lines of a log that grows elsewhere, in batches, each in one transaction with the offset behind its last
 * complete line. A new owner reads on from there: no line twice, none lost. Secrets are taken out before anything is
 * stored. Memory is flat: a writer that is ahead of the database waits.
 */
import { limits } from "../domain/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { NewEvent, OperationContext } from "./definition.ts";
import type { Redactor } from "./redact.ts";
import { createLineSplitter, type RawLine } from "./split-lines.ts";

export interface LineWriterOptions {
  append: OperationContext<string, string>["append"];
  clock: Clock;
  redactor: Redactor;
  /** `stdout` for the work, `system` for what the platform says about it. */
  stream: "stdout" | "system";
  phase: string;
  /** Key in `progress` under which the offset is kept. Without it no offset is. */
  offsetKey?: string;
  /** Where the bytes begin: `context.progress[offsetKey] ?? 0`. */
  offset?: number;
}

export interface LineWriter {
  /** Takes bytes; resolves when there is room for more. Throws what storing threw. */
  write(chunk: Uint8Array): Promise<void>;
  /** Stores the complete lines. For a connection that broke: the rest is read again from the offset. */
  flush(): Promise<void>;
  /** The end of the log: stores its last line as well, which needs no line break. */
  end(): Promise<void>;
  /** The last lines, for the `logTail` of an error. */
  tail(): string[];
}

const tailLines = 20;

export function createLineWriter(options: LineWriterOptions): LineWriter {
  const { append, clock, redactor, offsetKey } = options;
  const toText = createLineText(redactor);
  const splitter = createLineSplitter({ keepBytes: toText.keepBytes, offset: options.offset ?? 0 });
  const recent: string[] = [];
  let pending: NewEvent[] = [];
  let pendingLength = 0;
  let offset = options.offset ?? 0;
  let storing: Promise<void> = Promise.resolve();
  let failure: { error: unknown } | null = null;
  let timer: AbortController | null = null;
  let storedMs = 0;

  const take = (raw: RawLine) => {
    const line = toText.text(raw);
    pending.push({ type: "log", data: { stream: options.stream, phase: options.phase, line } });
    pendingLength += line.length;
    offset = raw.endOffset;
    recent.push(line);
    if (recent.length > tailLines) {
      recent.shift();
    }
  };

  /** Begins to store what is pending, once the batch before is stored. */
  const store = async () => {
    timer?.abort();
    timer = null;
    await storing;
    if (failure !== null) {
      throw failure.error;
    }
    if (pending.length === 0) {
      return;
    }
    storedMs = clock.nowMs();
    const events = pending;
    [pending, pendingLength] = [[], 0];
    const done = append(events, offsetKey === undefined ? {} : { [offsetKey]: offset });
    storing = done.catch((error: unknown) => {
      failure ??= { error };
    });
  };

  /** At once after a pause, so that people see a line as it is said; else with what comes meanwhile. A failure shows at the next call. */
  const storeSoon = () => {
    if (timer === null && pending.length > 0) {
      timer = new AbortController();
      const sinceMs = Math.max(0, clock.nowMs() - storedMs);
      clock
        .sleep(Math.max(0, limits.logFlushMs - sinceMs), timer.signal)
        .then(store)
        .catch(() => undefined);
    }
  };

  const flush = async () => {
    await store();
    await storing;
    if (failure !== null) {
      throw failure.error;
    }
  };

  return {
    write: async (chunk) => {
      for (const raw of splitter.push(chunk)) {
        take(raw);
        if (pending.length >= limits.logFlushLines || pendingLength >= limits.logFlushBytes) {
          await store();
        }
      }
      if (failure !== null) {
        throw failure.error;
      }
      storeSoon();
    },
    flush,
    end: async () => {
      const raw = splitter.rest();
      if (raw !== null) {
        take(raw);
      }
      await flush();
    },
    tail: () => [...recent],
  };
}

interface LineText {
  /** Bytes of a line that must be kept for a secret at the cut to be seen whole. */
  keepBytes: number;
  text(raw: RawLine): string;
}

/** A line as it is stored: decoded, without anything that breaks lines, without secrets, capped. */
export function createLineText(redactor: Redactor): LineText {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const encoder = new TextEncoder();
  const capBytes = limits.logLineBytes;
  const cap = new Uint8Array(capBytes);
  return {
    keepBytes: capBytes + 3 * redactor.longest,
    text: ({ bytes, droppedBytes }) => {
      // In stream mode half a character at the cut is left out; the second call forgets it.
      let text = decoder.decode(bytes, { stream: droppedBytes > 0 });
      if (droppedBytes > 0) {
        decoder.decode();
      }
      text = text.replace(/[\v\f\u0085\u2028\u2029]/g, " ").replaceAll("\u0000", "\uFFFD");
      if (droppedBytes === 0 && text.length * 3 <= capBytes) {
        return redactor.redact(text);
      }
      const { read, written } = encoder.encodeInto(text, cap);
      if (droppedBytes === 0 && read === text.length) {
        return redactor.redact(text);
      }
      return `${redactor.redactStart(text, read)} … [${bytes.length + droppedBytes - written} more bytes cut]`;
    },
  };
}
