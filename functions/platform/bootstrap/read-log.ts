/**
 * The install script's output as events: its own lines start or refuse a phase, all others are log lines. Every chunk is
 * stored in one transaction with the offset behind its last line, so that a new owner misses nothing and repeats nothing.
 */
import type { NewEvent } from "../../../shared/operations/definition.ts";
import { createLineText } from "../../../shared/operations/line-writer.ts";
import { createRedactor } from "../../../shared/operations/redact.ts";
import { createLineSplitter, type RawLine } from "../../../shared/operations/split-lines.ts";

/** What a new owner needs; kept in the operation's progress. */
export interface LogPosition {
  /** Bytes of the log that are stored. */
  offset: number;
  phase: string | null;
  phaseStartedMs: number;
  /** The script's own reason to stop. */
  refused: { code: string; message: string } | null;
}

export interface LogReader {
  /** Null while no line is complete. */
  read(chunk: Uint8Array, nowMs: number): { events: NewEvent[]; position: LogPosition } | null;
  /** The last lines, for an error. */
  tail(): string[];
}

const tailLines = 20;
const phaseLine = /^slipway-phase ([a-z]{1,20})$/;
const refusedLine = /^slipway-refused ([a-z_]{1,40}) (.{1,500})$/;

export function createLogReader(from: LogPosition): LogReader {
  // The script handles no secrets, so there are none to take out.
  const toText = createLineText(createRedactor([]));
  const splitter = createLineSplitter({ keepBytes: toText.keepBytes, offset: from.offset });
  const recent: string[] = [];
  let position = from;

  const take = (raw: RawLine, nowMs: number): NewEvent[] => {
    const line = toText.text(raw);
    position = { ...position, offset: raw.endOffset };
    const phase = phaseLine.exec(line)?.[1];
    if (phase !== undefined) return enter(phase, nowMs);
    const [, code, message] = refusedLine.exec(line) ?? [];
    if (code !== undefined && message !== undefined) position = { ...position, refused: { code, message } };
    const said = message ?? line;
    recent.push(said);
    if (recent.length > tailLines) recent.shift();
    return [{ type: "log", data: { stream: "stdout", phase: position.phase ?? "prepare", line: said } }];
  };

  const enter = (phase: string, nowMs: number): NewEvent[] => {
    const ended = leavePhase(position, nowMs);
    position = { ...position, phase, phaseStartedMs: nowMs };
    return [...ended, { type: "phase", data: { phase, state: "started", ms: 0 } }];
  };

  return {
    read(chunk, nowMs) {
      const events: NewEvent[] = [];
      for (const raw of splitter.push(chunk)) events.push(...take(raw, nowMs));
      return events.length === 0 ? null : { events, position };
    },
    tail: () => [...recent],
  };
}

/** The end of the phase that is open. */
export function leavePhase(position: LogPosition, nowMs: number): NewEvent[] {
  if (position.phase === null) return [];
  const ms = Math.max(0, nowMs - position.phaseStartedMs);
  return [{ type: "phase", data: { phase: position.phase, state: "done", ms } }];
}
