/**
 * JSON lines on stderr: stdout belongs to commands that print data (`slipway … --json`).
 * Fields that carry secrets are replaced by name before a line is written, two levels deep, since a whole request or
 * configuration may be logged by mistake. Rejected: a pretty printer, one more process and one more dependency.
 */
import pino from "pino";
import type { Log, LogFields } from "../ports/log.ts";

const secretFields = [
  "authorization",
  "cookie",
  "credential",
  "databaseUrl",
  "gitWebhookSecret",
  "key",
  "passphrase",
  "password",
  "privateKey",
  "secret",
  "secretAccessKey",
  "signature",
  "token",
  "webhookSecret",
];

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface PinoLogOptions {
  level?: LogLevel;
  /** File descriptor or stream; default stderr. */
  destination?: { write(line: string): void };
}

export function openLog(options: PinoLogOptions = {}): Log {
  const destination = options.destination ?? pino.destination({ dest: 2, sync: true });
  const logger = pino(
    {
      level: options.level ?? "info",
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths(), censor: "[redacted]" },
      serializers: { error: pino.stdSerializers.err, err: pino.stdSerializers.err },
    },
    destination,
  );
  return wrap(() => logger);
}

/** A child is made when it has something to say: most requests have not, and pino goes through all redacted paths for it. */
function wrap(logger: () => pino.Logger): Log {
  return {
    debug: (fields, message) => logger().debug(fields, message),
    info: (fields, message) => logger().info(fields, message),
    warn: (fields, message) => logger().warn(fields, message),
    error: (fields, message) => logger().error(fields, message),
    child(fields: LogFields) {
      let made: pino.Logger | undefined;
      return wrap(() => {
        made ??= logger().child(fields);
        return made;
      });
    },
  };
}

function redactedPaths(): string[] {
  return secretFields.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
}
