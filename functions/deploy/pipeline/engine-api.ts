/**
 * Questions and orders to the container engine over its socket, as shell text for our scripts. The engine's client takes
 * some 40 ms to start each time, which is more than all other work of a rollback; and JSON carries every value of an
 * environment, where the client has only files of lines. curl is there: the bootstrap installs it.
 */

/** `engine <curl arguments> http://engine/<path>`; several transfers go over one connection. Its exit is curl's. */
export const engineFunction = `
engine() { curl -sS --max-time 100 --unix-socket /var/run/docker.sock "$@"; }
`;

/** What the engine says of a refusal, or the text itself where it is no answer of the engine. */
export function engineMessage(text: string): string {
  const found = /\{"message":.*\}/.exec(text);
  if (found === null) return text.trim();
  try {
    const { message } = JSON.parse(found[0]) as { message?: unknown };
    return typeof message === "string" ? message : text.trim();
  } catch {
    return text.trim();
  }
}

/** curl's and the client's words for an engine that is not there. */
export const engineDown = /cannot connect to the docker daemon|couldn't connect to server|failed to connect/i;
