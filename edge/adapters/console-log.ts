/**
 * The log of a host that collects what is printed: JSON lines, as the platform's log on Node writes them. An error goes
 * as its name, message, stack and causes; the parameters of a statement, which a driver adds to them, do not.
 */
import type { Log, LogFields } from "../../shared/ports/log.ts";

const levels = ["debug", "info", "warn", "error"] as const;
export type ConsoleLogLevel = (typeof levels)[number];
const mostCharacters = 8_000;

export function createConsoleLog(
  least: ConsoleLogLevel,
  write: (level: ConsoleLogLevel, line: string) => void = (level, line) => console[level](line),
  common: LogFields = {},
): Log {
  const at = (level: ConsoleLogLevel) => (fields: LogFields, message: string) => {
    if (levels.indexOf(level) < levels.indexOf(least)) return;
    const time = new Date().toISOString();
    write(level, JSON.stringify({ level, time, ...common, ...fields, msg: message }, plain));
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => createConsoleLog(least, write, { ...common, ...fields }),
  };
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { name, message, stack = "", cause } = value;
  const told = { name, message: withoutParameters(message), stack: withoutParameters(stack) };
  return cause === undefined ? told : { ...told, cause };
}

/** Drizzle writes them on one line at the end of its message: hashes, addresses, the whole body of a delivery. */
function withoutParameters(text: string): string {
  return text.replace(/\nparams: .*/g, "").slice(0, mostCharacters);
}
