/**
 * Opening one channel and starting one command on it, with every way in which that ends told apart: started, surely not started (so it
 * may be tried again), or unknown. ssh2 tells them by callbacks and texts only.
 */
import type { ClientChannel } from "ssh2";
import { ShellFailure } from "../ports/shell.ts";
import type { Connection } from "./ssh2-connection.ts";
import { terminate } from "./ssh2-execution.ts";

export interface ChannelStart<T> {
  /** The channel exists: its slot is taken until it closes. Comes before `begin`. */
  opened(channel: ClientChannel): void;
  /** In the same tick: a short command's exit may be in the very packet that says that it started. */
  begin(channel: ClientChannel): T;
  /** The caller has gone before the server answered; `opened` or `notOpened` may still come, or never. */
  abandoned(): void;
  /** No channel came of it. Refused means that the server has no session left to give. */
  notOpened(refused: boolean): void;
}

/** `"not_started"`: the server has surely not seen the command. Throws when it may have, or never will run it. */
export function startOnChannel<T>(
  connection: Connection,
  line: string,
  signal: AbortSignal,
  start: ChannelStart<T>,
): Promise<{ begun: T } | "not_started"> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      start.notOpened(false);
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      reject(signal.reason);
      start.abandoned();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const answered = (error: (Error & { reason?: unknown }) | undefined, channel?: ClientChannel): void => {
      signal.removeEventListener("abort", onAbort);
      if (error === undefined && channel !== undefined) {
        start.opened(channel);
        if (signal.aborted) {
          discard(channel);
        } else {
          resolve({ begun: start.begin(channel) });
        }
        return;
      }
      const refused = error?.reason !== undefined;
      start.notOpened(refused);
      if (refused || lostBeforeOpen.has(error?.message ?? "")) {
        resolve("not_started");
      } else {
        reject(notRun(connection.isOpen(), error));
      }
    };
    try {
      connection.client.exec(line, answered);
    } catch (error) {
      answered(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/** ssh2's words for a connection that ended before the channel was there. */
const lostBeforeOpen = new Set(["No response from server", "Not connected"]);

function notRun(connectionOpen: boolean, cause: Error | undefined): ShellFailure {
  return connectionOpen
    ? new ShellFailure("unreachable", "The server opened a session but refused to run a command in it.", {
        cause,
      })
    : new ShellFailure(
        "connection_lost",
        "The connection to the server was lost while a command was started.",
        { cause },
      );
}

/** It came too late for its caller. */
function discard(channel: ClientChannel): void {
  channel.on("error", () => undefined).resume();
  channel.stderr.resume();
  terminate(channel);
}
