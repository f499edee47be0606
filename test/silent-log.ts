/** A log for tests that do not look at it. */
import type { Log } from "../shared/ports/log.ts";

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

export interface LogLine {
  level: "debug" | "info" | "warn" | "error";
  fields: Record<string, unknown>;
  message: string;
}

/** A log that keeps what was said, for tests that do. */
export function recordingLog(
  lines: LogLine[] = [],
  common: Record<string, unknown> = {},
): Log & { lines: LogLine[] } {
  const at = (level: LogLine["level"]) => (fields: Record<string, unknown>, message: string) => {
    lines.push({ level, fields: { ...common, ...fields }, message });
  };
  return {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => recordingLog(lines, { ...common, ...fields }),
  };
}
