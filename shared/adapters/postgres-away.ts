/**
 * Whether a failure says that the database is away for now (starting, recovering, restarting, not reachable yet), which
 * passes, or that something is wrong, which does not: a password, a name of a database, a statement.
 */

/** SQLSTATEs of Postgres: it shuts down, was killed, starts or recovers; has no connection left. */
const passing = new Set(["57P01", "57P02", "57P03", "53300"]);
/** Of the way to it. A name is unknown for as long as its container is down. */
const unreachable = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  ...["ENOTFOUND", "EAI_AGAIN"],
]);
/** The driver gives these no code. */
const brokenOff = /^Connection terminated|^timeout exceeded when trying to connect|not queryable$/;

/** The sentence of the failure, where the database is away; undefined where the failure means something else. */
export function whyAway(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const code = "code" in each ? String(each.code) : "";
    // Of a socket; a certificate that is not there stays so.
    const hasNoSocket = code === "ENOENT" && "syscall" in each && each.syscall === "connect";
    const onTheWay = unreachable.has(code) || hasNoSocket || brokenOff.test(each.message);
    const isAway = passing.has(code) || code.startsWith("08") || onTheWay;
    // Refused at both addresses of a name: the sentence is empty.
    if (isAway) return each.message === "" ? code : each.message;
  }
  return undefined;
}
