/**
 * Holds a deployment in a phase: on the lab server, `git` and `curl` are wrapped by a script that waits while
 * the test wants it, before the real tool acts. The product knows nothing of it; what it runs is only slow.
 */
import { randomBytes } from "node:crypto";
import type { LabServer } from "../lab/server.ts";
import { until } from "./until.ts";

/** Which tool, at which of its uses. */
export type HoldPoint = "git fetch" | "container start" | "proxy switch";

export interface Hold {
  /** Somebody waits at the point. */
  reached(): Promise<void>;
  release(): Promise<void>;
}

/** Gone after a reboot, and every hold with it. */
const folder = "/run/lab-holds";

/** A hold is a file whose name begins with the point and whose content is a word of the arguments. */
const wrapper = `#!/bin/sh
name=\${0##*/}
case "$name $*" in
  git*' fetch '*) point=git-fetch ;;
  # The release script's first question to the engine, and what the proxy is asked just before its traffic moves.
  curl*/networks/slipway-*) point=container-start ;;
  curl*/load*|curl*/config/admin/config*) point=proxy-switch ;;
  *) point= ;;
esac
for hold in ${folder}/$point.*.hold; do
  [ -n "$point" ] && [ -f "$hold" ] || continue
  word=$(cat "$hold" 2>/dev/null)
  case "$*" in
    *"$word"*) : >"$hold.reached"; while [ -f "$hold" ]; do sleep 0.05; done ;;
  esac
done
exec "/usr/bin/$name" "$@"
`;

export async function installHolds(server: LabServer): Promise<void> {
  for (const tool of ["git", "curl"]) {
    const script = 'test -x "/usr/bin/$1" && cat >"/usr/local/bin/$1" && chmod 755 "/usr/local/bin/$1"';
    await server.read(["sh", "-c", script, "hold", tool], { input: wrapper });
  }
}

/** `word` must be among the arguments of the use that is meant. */
export async function holdAt(server: LabServer, point: HoldPoint, word: string): Promise<Hold> {
  const file = `${folder}/${point.replace(" ", "-")}.${randomBytes(4).toString("hex")}.hold`;
  const script = 'mkdir -p "$2" && cat >"$1.next" && mv "$1.next" "$1"';
  await server.read(["sh", "-c", script, "hold", file, folder], { input: word });
  const isReached = async () => (await server.exec(["test", "-e", `${file}.reached`])).code;
  return {
    reached: () => until(isReached, 0, 60_000),
    release: async () => void (await server.exec(["rm", "-f", file, `${file}.reached`])),
  };
}
