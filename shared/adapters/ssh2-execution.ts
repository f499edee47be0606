/**
 * One running command on an open channel: what goes in, what comes out, how it ended. Input and output are never larger than the
 * channel's window in memory unless the caller collects them. A channel that closes without an exit status means that the outcome
 * is unknown: `connection_lost`, never a made-up exit code.
 */
import { constants } from "node:os";
import type { ClientChannel } from "ssh2";
import { type ShellCommand, ShellFailure, type ShellResult, type ShellStreamEnd } from "../ports/shell.ts";

const defaultOutputLimitBytes = 1024 * 1024;
const stderrTailBytes = 64 * 1024;

/** Asks the far side to end the command, then closes the channel. sshd keeps the session until the command has really ended. */
export function terminate(channel: ClientChannel): void {
  channel.signal("TERM");
  channel.close();
}

/** Runs to the end with both outputs kept. */
export async function collect(
  channel: ClientChannel,
  command: ShellCommand,
  signal: AbortSignal,
): Promise<ShellResult> {
  const stdout = keepUpTo(command.maxOutputBytes ?? defaultOutputLimitBytes);
  const stderr = keepUpTo(command.maxOutputBytes ?? defaultOutputLimitBytes);
  const end = watch(channel, command, signal);
  const overflow = (): void =>
    end.fail(new ShellFailure("output_limit", "The remote command wrote more output than is accepted."));
  channel.on("data", (chunk: Buffer) => stdout.add(chunk) || overflow());
  channel.stderr.on("data", (chunk: Buffer) => stderr.add(chunk) || overflow());
  const code = await end.code;
  const bytes = stdout.bytes();
  return {
    code,
    stdoutBytes: bytes,
    stdout: bytes.toString("utf8"),
    stderr: stderr.bytes().toString("utf8"),
  };
}

/** Chunks as they arrive; the far side is held back while the reader is slow. It listens from the call on, not from the first read. */
export function follow(
  channel: ClientChannel,
  command: ShellCommand,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, ShellStreamEnd, undefined> {
  const stderr = keepTail(stderrTailBytes);
  channel.stderr.on("data", stderr.add);
  const arrivals = waitable();
  channel.on("readable", arrivals.wake);
  channel.on("end", arrivals.wake);
  const end = watch(channel, command, signal);
  let over = false;
  const finished = (): void => {
    over = true;
    arrivals.wake();
  };
  end.code.then(finished, finished);
  const chunks = async function* (): AsyncGenerator<Uint8Array, ShellStreamEnd, undefined> {
    try {
      for (;;) {
        const chunk: Buffer | null = channel.read();
        if (chunk !== null) {
          yield chunk;
        } else if (over) {
          return { code: await end.code, stderr: stderr.bytes().toString("utf8") };
        } else {
          await arrivals.wait();
        }
      }
    } finally {
      end.fail(new ShellFailure("aborted", "The stream was ended by its reader."));
    }
  };
  return chunks();
}

interface End {
  code: Promise<number>;
  /** Ends the command from this side. After the end it does nothing. */
  fail(reason: Error): void;
}

function watch(channel: ClientChannel, command: ShellCommand, signal: AbortSignal): End {
  let over = false;
  let status: number | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const waiting = waitable();
  const finish = (act: () => void): void => {
    if (!over) {
      over = true;
      signal.removeEventListener("abort", onAbort);
      act();
      waiting.wake();
    }
  };
  const fail = (reason: Error): void =>
    finish(() => {
      terminate(channel);
      // What still arrives is thrown away; unread output would keep the channel open.
      channel.removeAllListeners("readable").removeAllListeners("data").resume();
      channel.stderr.removeAllListeners("data").resume();
      reject(reason);
    });
  const onAbort = (): void => fail(signal.reason as Error);
  channel.on("exit", (code: number | null, signalName?: string) => {
    status = code ?? 128 + (constants.signals[(signalName ?? "") as NodeJS.Signals] ?? 0);
  });
  // Both outputs have to be at their end: the channel's own "close" says nothing about stderr.
  let open = 2;
  const closed = (): void => {
    open--;
    if (open > 0) {
      return;
    }
    finish(() => {
      if (status === undefined) {
        reject(
          new ShellFailure(
            "connection_lost",
            "The connection to the server was lost while a command ran; how it ended is unknown.",
          ),
        );
      } else {
        resolve(status);
      }
    });
  };
  channel.once("close", closed);
  channel.stderr.once("close", closed);
  // A late write to a closed channel says so here; the outcome is told by "close".
  channel.on("error", waiting.wake);
  promise.catch(waiting.wake);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) {
    onAbort();
  }
  feed(channel, command.stdin, waiting, () => over).catch((error: unknown) =>
    fail(error instanceof Error ? error : new Error(String(error))),
  );
  return { code: promise, fail };
}

/** Writes stdin and closes it. A command that ends without reading all of it is no error, as in a local pipe. */
async function feed(
  channel: ClientChannel,
  stdin: ShellCommand["stdin"],
  waiting: Waitable,
  isOver: () => boolean,
): Promise<void> {
  if (stdin === undefined) {
    return; // Nobody reads it. Left open it keeps the way free for a signal, which ssh2 refuses to send after the end of the input.
  }
  if (typeof stdin === "string" || stdin instanceof Uint8Array) {
    channel.end(stdin);
    return;
  }
  channel.on("drain", waiting.wake);
  for await (const chunk of stdin) {
    if (isOver()) {
      return;
    }
    if (!channel.write(chunk)) {
      await waiting.until(() => isOver() || channel.writableNeedDrain === false);
    }
  }
  channel.end();
}

interface Waitable {
  wake(): void;
  /** Until the next `wake`, or at once if one came since the last wait. */
  wait(): Promise<void>;
  until(condition: () => boolean): Promise<undefined>;
}

function waitable(): Waitable {
  let listeners: (() => void)[] = [];
  let woken = false;
  const wait = (): Promise<void> => {
    if (woken) {
      woken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      listeners.push(resolve);
    });
  };
  return {
    wait,
    wake: () => {
      const pending = listeners;
      listeners = [];
      woken = pending.length === 0;
      for (const listener of pending) {
        listener();
      }
    },
    until: async (condition) => {
      while (!condition()) {
        await wait();
      }
      return undefined;
    },
  };
}

function keepUpTo(limitBytes: number): { add(chunk: Buffer): boolean; bytes(): Buffer } {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    add: (chunk) => {
      size += chunk.length;
      if (size > limitBytes) {
        chunks.length = 0;
        return false;
      }
      chunks.push(chunk);
      return true;
    },
    bytes: () => (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
  };
}

function keepTail(limitBytes: number): { add(chunk: Buffer): void; bytes(): Buffer } {
  let tail = Buffer.alloc(0);
  return {
    add: (chunk) => {
      tail = Buffer.concat([tail, chunk]).subarray(-limitBytes);
    },
    bytes: () => tail,
  };
}
