/**
 * Reads what a detached unit writes, by offset: a reader that lost its connection, or a new owner, goes on where the last byte was, with
 * no gap and no byte twice. The exit is answered together with the last byte, never before it. Rejected: `tail -f` over a stream (its
 * channel is one of ten, and where it was cut is unknown) and counting lines (bytes need no parsing on the server).
 */
import type { Clock } from "../ports/clock.ts";
import { type Shell, ShellFailure, type ShellFailureReason, type ShellTarget } from "../ports/shell.ts";
import { type UnitName, unitPath } from "./detached.ts";
import { readUnitScript } from "./scripts/read-unit.ts";

export interface UnitReading {
  /** False: this step was never started here, or its files are gone. */
  started: boolean;
  chunk: Uint8Array;
  nextOffset: number;
  /** The whole log as of now, in bytes: a caller bounds it. */
  logBytes: number;
  /** Exit status, once every byte of the log was delivered. */
  exit: number | null;
  /** Not alive and no exit: it was killed, or the server restarted. */
  alive: boolean;
  /** The server went down under it. */
  bootChanged: boolean;
}

export interface UnitRead extends UnitName {
  offset: number;
  /** How long the server waits for something new; at most 2,000. */
  waitMs: number;
  signal?: AbortSignal;
}

const longestWaitMs = 2_000;
const chunkLimitBytes = 1024 * 1024;
/** For everything but the waiting: connecting included. */
const answerWithinMs = 15_000;

/** One long poll. Throws `ShellFailure` when the server could not be asked. */
export async function readUnit(shell: Shell, target: ShellTarget, unit: UnitRead): Promise<UnitReading> {
  const waitMs = Math.min(longestWaitMs, Math.max(0, Math.trunc(unit.waitMs)));
  const result = await shell.run(target, {
    argv: [
      "sh",
      "-c",
      readUnitScript,
      "slipway-unit",
      unitPath(unit),
      String(unit.offset),
      String(waitMs),
      String(chunkLimitBytes),
    ],
    asRoot: true,
    deadlineMs: waitMs + answerWithinMs,
    maxOutputBytes: chunkLimitBytes + 4_096,
    ...(unit.signal === undefined ? {} : { signal: unit.signal }),
  });
  if (result.code !== 0) {
    throw new Error(
      `A unit's log could not be read (exit ${result.code}): ${result.stderr.trim().slice(0, 500)}`,
    );
  }
  return parseReading(result.stdoutBytes, unit.offset);
}

export interface UnitFollow extends UnitName {
  offset: number;
  clock: Clock;
  /** How long the server may be out of reach, in a row, before following fails. Default 60,000. */
  lostForMs?: number;
  /** 0 ≤ x < 1, spreads the attempts to reconnect. */
  random?: () => number;
  signal?: AbortSignal;
}

export interface UnitEnd {
  nextOffset: number;
  started: boolean;
  exit: number | null;
  bootChanged: boolean;
}

export interface UnitChunk {
  chunk: Uint8Array;
  nextOffset: number;
}

/** Every byte from `offset` on, once, until the unit is over; its end is the return value. Lost connections are bridged. */
export async function* followUnit(
  shell: Shell,
  target: ShellTarget,
  unit: UnitFollow,
): AsyncGenerator<UnitChunk, UnitEnd, undefined> {
  const { clock, lostForMs = 60_000, random = Math.random } = unit;
  let offset = unit.offset;
  let lostSinceMs: number | undefined;
  let pauseMs = 0;
  for (;;) {
    let reading: UnitReading;
    try {
      reading = await readUnit(shell, target, { ...unit, offset, waitMs: longestWaitMs });
    } catch (error) {
      if (!isBridgeable(error)) {
        throw error;
      }
      lostSinceMs ??= clock.nowMs();
      if (clock.nowMs() - lostSinceMs >= lostForMs) {
        throw new ShellFailure(
          "unreachable",
          "The server has been out of reach for too long while its work was followed.",
          { cause: error },
        );
      }
      pauseMs = Math.min(2_000, Math.max(100, pauseMs * 2)) * (0.5 + random());
      await clock.sleep(pauseMs, unit.signal);
      continue;
    }
    lostSinceMs = undefined;
    pauseMs = 0;
    offset = reading.nextOffset;
    if (reading.chunk.length > 0) {
      yield { chunk: reading.chunk, nextOffset: offset };
    }
    const complete = offset >= reading.logBytes;
    if (complete && (reading.exit !== null || !reading.alive)) {
      return {
        nextOffset: offset,
        started: reading.started,
        exit: reading.exit,
        bootChanged: reading.bootChanged,
      };
    }
  }
}

/** What passes by itself. A changed host key or a refused credential does not. */
function isBridgeable(error: unknown): boolean {
  const passing: readonly ShellFailureReason[] = ["unreachable", "connection_lost", "deadline"];
  return error instanceof ShellFailure && passing.includes(error.reason);
}

function parseReading(bytes: Uint8Array, offset: number): UnitReading {
  const end = bytes.indexOf(0x0a);
  const header = new TextDecoder().decode(bytes.subarray(0, Math.max(0, end)));
  const [started, exit, alive, rebooted, size, count] = header.split(" ");
  const chunk = bytes.subarray(end + 1);
  if (end < 0 || count === undefined || chunk.length !== Number(count)) {
    throw new ShellFailure("connection_lost", "The answer about a unit's log was incomplete.");
  }
  const nextOffset = offset + chunk.length;
  const complete = nextOffset >= Number(size);
  return {
    started: started === "1",
    chunk,
    nextOffset,
    logBytes: Number(size),
    exit: exit === "-" || !complete ? null : Number(exit),
    alive: alive === "1",
    bootChanged: rebooted === "1",
  };
}
