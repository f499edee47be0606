/**
 * What the platform writes about itself, for the person who runs it: structured lines, never build or runtime logs of
 * a project (those are events in Postgres). Fields come first so that a message is never built by joining strings,
 * and so that redaction by field name can hold.
 */
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** The same log with `fields` on every line. */
  child(fields: LogFields): Log;
}
