/**
 * Whether an error says that the database could not be asked, or its answer was lost. Then nobody knows what was
 * written, so the story ends here and the next owner goes on from what the row says. A bug in a statement is not that,
 * and neither is a lost SSH connection, which looks the same but for the wrapper of drizzle.
 */
import { DrizzleQueryError } from "drizzle-orm/errors";

const awayClasses = new Set([
  "08", // connection
  "40", // serialization, deadlock: rolled back, may be tried again
  "53", // too many connections, out of memory
  "57", // shut down, starting up, cancelled by timeout
  "58", // its disk or its system
]);
/** A name is unknown for as long as its container is down. */
const lostCodes = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
const lostMessages =
  /connection terminated|timeout exceeded when trying to connect|client was closed|not queryable|read timeout/i;

/** `source: "database"` where the error can come from nothing else. */
export function isDatabaseAway(error: unknown, source: "database" | "anywhere"): boolean {
  const wrapped = error instanceof DrizzleQueryError;
  const cause = wrapped ? error.cause : error;
  if (!(cause instanceof Error) || (!wrapped && source === "anywhere")) {
    return false;
  }
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  if (/^[0-9A-Z]{5}$/.test(code) && "severity" in cause) {
    return awayClasses.has(code.slice(0, 2));
  }
  // Of a socket; a certificate that is not there stays so.
  const hasNoSocket = code === "ENOENT" && "syscall" in cause && cause.syscall === "connect";
  return lostCodes.test(code) || hasNoSocket || lostMessages.test(cause.message);
}
