/**
 * Questions and orders to the container engine over its socket, as shell text for our scripts. The engine's client takes
 * some 40 ms to start each time, which is more than all other work of a rollback; and JSON carries every value of an
 * environment, where the client has only files of lines. curl is there: the bootstrap installs it.
 */

/** `engine <curl arguments> http://engine/<path>`; several transfers go over one connection. Its exit is curl's. */
export const engineFunction = `
engine() { curl -sS --max-time 100 --unix-socket /var/run/docker.sock "$@"; }
`;

/** `make_network`: the project's own network, `$network` of `$project`. */
export const makeNetworkFunction = `make_network() {
  set -- --label "slipway.project=$project" "$network"
  docker network create "$@" >/dev/null 2>&1 && return 0
  # The engine's own ranges end after some thirty networks; small ones of ours go on from there.
  part=0
  while [ "$part" -lt 256 ]; do
    docker network create --subnet "10.231.$part.0/24" "$@" >/dev/null 2>&1 && return 0
    docker network inspect "$network" >/dev/null 2>&1 && return 0
    part=$((part + 1))
  done
  echo "No network could be made for the project" >&2
  return 1
}
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
