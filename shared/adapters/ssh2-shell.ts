/**
 * The shell port on ssh2: three lanes a server, for short commands, for long streams and for what is large on its way there, each a
 * connection that is opened when it is needed. A build log never stands in the way of a probe; neither does an upload, which keeps two
 * megabytes in front of everything else on its connection. This file only says what a command becomes; connections, lanes and running
 * commands are next to it. Rejected: uploads on the lane of streams, whose channels followed logs may hold for days.
 */
import { randomBytes } from "node:crypto";
import {
  type HostKey,
  type Shell,
  type ShellCommand,
  ShellFailure,
  type ShellResult,
  type ShellStreamEnd,
  type ShellTarget,
  type ShellUpload,
} from "../ports/shell.ts";
import { startDeadline } from "../shell/deadline.ts";
import { commandLine } from "../shell/quote.ts";
import { receiveFile } from "../shell/scripts/upload.ts";
import { watched } from "../shell/scripts/watched.ts";
import { connect, type OpenSocket, probeHostKey } from "./ssh2-connection.ts";
import { collect, follow } from "./ssh2-execution.ts";
import { Ssh2Lane } from "./ssh2-lane.ts";

export interface Ssh2ShellOptions {
  /** Milliseconds until a connection must be authenticated. Default 10,000. */
  connectTimeoutMs?: number;
  /** An unused connection is closed after this. Default 60,000. */
  idleMs?: number;
  /** Default 15,000, three times unanswered is a lost connection. */
  keepaliveIntervalMs?: number;
  /** Channels on one connection until a server says less. Default 10, as MaxSessions. */
  channelLimit?: number;
  /** How long an ended channel may stay unconfirmed before its connection is given up. Default 5,000. */
  stuckChannelMs?: number;
  /** After three failed connects in a row: fail at once for this long. Default 5,000. */
  breakerOpenMs?: number;
  /** Opens the TCP connection; cloud mode gives one that guards addresses. */
  openSocket?: OpenSocket;
  nowMs?: () => number;
  random?: () => number;
}

const laneKinds = ["short", "long", "bulk"] as const;
type LaneKind = (typeof laneKinds)[number];

export function createSsh2Shell(options: Ssh2ShellOptions = {}): Shell {
  const lanes = new Map<string, Ssh2Lane>();
  let closed = false;
  const connectOptions = {
    timeoutMs: options.connectTimeoutMs ?? 10_000,
    keepaliveIntervalMs: options.keepaliveIntervalMs ?? 15_000,
    keepaliveCountMax: 3,
    openSocket: options.openSocket,
  };

  const laneOf = (serverId: string, kind: LaneKind): Ssh2Lane => {
    if (closed) {
      throw new ShellFailure("aborted", "Remote execution is shut down.");
    }
    const name = `${kind} ${serverId}`;
    const known = lanes.get(name);
    if (known !== undefined) {
      return known;
    }
    const lane = new Ssh2Lane({
      connect: (target, signal) => connect(target, { ...connectOptions, signal }),
      channelLimit: options.channelLimit ?? 10,
      idleMs: options.idleMs ?? 60_000,
      stuckChannelMs: options.stuckChannelMs ?? 5_000,
      reconnectBaseMs: 100,
      failuresUntilOpen: 3,
      breakerOpenMs: options.breakerOpenMs ?? 5_000,
      nowMs: options.nowMs ?? (() => performance.now()),
      random: options.random ?? Math.random,
    });
    lanes.set(name, lane);
    return lane;
  };

  const collected = async (
    target: ShellTarget,
    command: ShellCommand,
    signal: AbortSignal,
    kind: LaneKind,
  ): Promise<ShellResult> => {
    const lane = laneOf(target.serverId, kind);
    const line = lineFor(target, command, command.stdin === undefined ? "no input" : "input");
    const running = await lane.start(target, line, signal, (channel) => ({
      result: collect(channel, command, signal),
    }));
    return await running.result;
  };

  const runOn = async (kind: LaneKind, target: ShellTarget, command: ShellCommand): Promise<ShellResult> => {
    const deadline = startDeadline(command.deadlineMs, command.signal);
    try {
      const result = await collected(target, command, deadline.signal, kind);
      if (needsSudo(target, command) && result.code !== 0 && result.stderr.startsWith("sudo: ")) {
        await refuseWithoutSudo(target, deadline.signal);
      }
      return result;
    } finally {
      deadline.clear();
    }
  };

  /** A command may itself fail with a line that looks like sudo's, so sudo is asked again before it is blamed. */
  const refuseWithoutSudo = async (target: ShellTarget, signal: AbortSignal): Promise<void> => {
    const probe: ShellCommand = { argv: ["true"], asRoot: true, deadlineMs: 0 };
    const { code } = await collected(target, probe, signal, "short");
    if (code !== 0) {
      throw new ShellFailure(
        "sudo",
        `The user ${target.user} of this server is neither root nor may use sudo without a password.`,
      );
    }
  };

  const stream = async function* (
    target: ShellTarget,
    command: ShellCommand,
  ): AsyncGenerator<Uint8Array, ShellStreamEnd, undefined> {
    const deadline = startDeadline(command.deadlineMs, command.signal);
    try {
      const lane = laneOf(target.serverId, "long");
      const line = lineFor(target, whileHeard(command), "input");
      return yield* await lane.start(target, line, deadline.signal, (channel) =>
        follow(channel, command, deadline.signal),
      );
    } finally {
      deadline.clear();
    }
  };

  return {
    run: (target, command) => runOn("short", target, command),
    stream,
    upload: (target, file) => upload((...call) => runOn(laneFor(file), ...call), target, file),
    probeHostKey: async ({ host, port, deadlineMs }): Promise<HostKey> => {
      const deadline = startDeadline(deadlineMs);
      try {
        return await probeHostKey(
          { host, port },
          { ...connectOptions, timeoutMs: deadlineMs, signal: deadline.signal },
        );
      } finally {
        deadline.clear();
      }
    },
    forget: (serverId) => {
      for (const kind of laneKinds) {
        const lane = lanes.get(`${kind} ${serverId}`);
        lanes.delete(`${kind} ${serverId}`);
        lane?.close();
      }
    },
    counts: () => {
      const each = [...lanes.values()].map((lane) => lane.counts());
      return {
        connections: each.reduce((sum, counts) => sum + counts.connections, 0),
        channels: each.reduce((sum, counts) => sum + counts.channels, 0),
      };
    },
    close: async () => {
      closed = true;
      await Promise.all([...lanes.values()].map((lane) => lane.close()));
      lanes.clear();
    },
  };
}

/** What fits into two packets is as short as any command. */
function laneFor(file: ShellUpload): LaneKind {
  return inputOf(file).bytes <= 65_536 ? "short" : "bulk";
}

/** A stream ends on the server when nobody listens any more. With an input of its own, the end of that input is the sign. */
function whileHeard(command: ShellCommand): ShellCommand {
  if (command.stdin !== undefined) {
    return command;
  }
  return { ...command, argv: ["sh", "-c", watched, "slipway-stream", ...command.argv] };
}

function needsSudo(target: ShellTarget, command: { asRoot?: boolean }): boolean {
  return command.asRoot === true && target.user !== "root";
}

function lineFor(target: ShellTarget, command: ShellCommand, input: "input" | "no input"): string {
  return commandLine({
    argv: command.argv,
    env: command.env,
    sudo: needsSudo(target, command),
    noInput: input === "no input",
  });
}

/** One round trip: the far side counts before it renames, because a cut connection looks like an end of input. */
async function upload(run: Shell["run"], target: ShellTarget, file: ShellUpload): Promise<void> {
  if (!Number.isInteger(file.mode) || file.mode < 0 || file.mode > 0o7777) {
    throw new RangeError("A file mode is four octal digits.");
  }
  const { bytes, stdin } = inputOf(file);
  const temporary = `${file.path}.slipway-${randomBytes(6).toString("hex")}`;
  const mode = file.mode.toString(8).padStart(4, "0");
  const result = await run(target, {
    argv: ["sh", "-c", receiveFile, "slipway-upload", file.path, temporary, mode, String(bytes)],
    stdin,
    asRoot: file.asRoot ?? false,
    deadlineMs: file.deadlineMs,
    ...(file.signal === undefined ? {} : { signal: file.signal }),
  });
  if (result.code !== 0) {
    const told = result.stderr.trim().slice(0, 500);
    throw new Error(
      `A file could not be written on the server (${file.path}): ${told === "" ? `exit ${result.code}` : told}`,
    );
  }
}

function inputOf({ content }: ShellUpload): { bytes: number; stdin: Uint8Array | AsyncIterable<Uint8Array> } {
  if (typeof content === "string" || content instanceof Uint8Array) {
    const stdin = Buffer.from(content);
    return { bytes: stdin.length, stdin };
  }
  return { bytes: content.bytes, stdin: content.chunks };
}
