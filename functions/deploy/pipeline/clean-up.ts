/**
 * Takes away what is not needed any more: for one deployment that did not make it (`undoScript`), and for a project
 * after a switch (`listScript`, then `removeScript`). Only things that carry our labels and names, found by listing the
 * server first and asking the database afterwards: what is made in between is not on the list.
 */

/**
 * Ends the builder's processes of one deployment and removes its container, image and files.
 * `$1` container, `$2` image tag, `$3` directory, `$4` marker, `$5` container to start again or empty.
 * Exit 1 with a reason on stderr where something is left.
 */
export const undoScript = `
container=$1 image=$2 directory=$3 marker=$4 start_again=$5
export HOME="\${HOME:-/root}" LC_ALL=C
# Files only, and small ones: what stands there is whatever somebody's container has put there.
builders() { find /proc/[0-9]*/root/etc/hosts -maxdepth 0 -type f -size -64k -print0 2>/dev/null | xargs -0 -r grep -ls -F -D skip -- "$marker" | while IFS=/ read -r _ _ number _; do echo "$number"; done; }
waited=0
while left=$(builders); [ -n "$left" ]; do
  [ "$waited" -lt 50 ] || { kill -s KILL $left 2>/dev/null; }
  [ "$waited" -lt 80 ] || { echo "processes of the build are left: $left" >&2; exit 1; }
  sleep 0.1
  waited=$((waited + 1))
done
if command -v docker >/dev/null; then
  problem=$(docker rm --force "$container" 2>&1) || case $problem in *'No such container'*) ;; *) echo "$problem" >&2; exit 1 ;; esac
  [ -z "$start_again" ] || docker start "$start_again" >/dev/null || exit 1
  docker image rm "$image" >/dev/null 2>&1
fi
rm -rf -- "$directory"
exit 0
`;

/** `$1` project, `$2` image repository, `$3` operations folder. One line a thing: kind, then the deployment as its name says it. */
export const listScript = `
export HOME="\${HOME:-/root}"
docker ps --all --filter "label=slipway.project=$1" --format '{{.Label "slipway.deployment"}}' | while read -r id; do echo "container $id"; done
docker image ls --format '{{.Tag}}' "$2" | while read -r tag; do echo "image $tag"; done
for path in "$3"/dep_*; do if [ -d "$path" ]; then echo "directory \${path##*/}"; fi; done
`;

/**
 * `$1` image repository, `$2` operations folder, `$3` bare repository, then pairs: kind and name.
 * Answers one line for each thing that is gone. Containers get 10 s to end, all at the same time.
 */
export const removeScript = `
repository=$1 operations=$2 git_repository=$3
shift 3
export HOME="\${HOME:-/root}" LC_ALL=C
stop_container() {
  docker stop --time 10 "$1" >/dev/null 2>&1
  problem=$(docker rm --force "$1" 2>&1) || case $problem in *'No such container'*) ;; *) return 1 ;; esac
  echo "container $2"
}
while [ "$#" -ge 2 ]; do
  case $1 in
    container) stop_container "slipway-$(echo "$2" | tr A-Z a-z)" "$2" & ;;
    image) images="\${images:-} $2" ;;
    directory)
      # A server that was out of reach may still work for a deployment that was given up.
      command -v systemctl >/dev/null && systemctl stop "slipway-$2-*.service" >/dev/null 2>&1
      rm -rf -- "$operations/$2" && echo "directory $2"
      ;;
  esac
  shift 2
done
wait
for tag in \${images:-}; do
  docker image rm "$repository:$tag" >/dev/null 2>&1
  docker image inspect "$repository:$tag" >/dev/null 2>&1 || echo "image $tag"
done
if [ -d "$git_repository" ]; then
  git --git-dir="$git_repository" -c gc.auto=200 -c gc.autoDetach=false gc --auto --quiet --prune=1.day.ago >/dev/null 2>&1
fi
exit 0
`;

export interface Thing {
  kind: "container" | "image" | "directory";
  /** Id of the deployment: as it is, or in lower case where it names an image. */
  name: string;
}

/** Reads the answers of both scripts; lines of another form are left out. */
export function readThings(stdout: string): Thing[] {
  return stdout.split("\n").flatMap((line) => {
    const [, kind, name] = /^(container|image|directory) (dep_[0-9A-Za-z]{26})$/.exec(line) ?? [];
    return kind === undefined || name === undefined ? [] : [{ kind: kind as Thing["kind"], name }];
  });
}

export interface Standing {
  /** Every deployment of the project, as ids. */
  known: readonly string[];
  /** Containers that must stay: of the active deployment and of those in flight. */
  running: readonly string[];
  /** Images that must stay. */
  images: readonly string[];
  /** Not final yet: their files stay. */
  open: readonly string[];
}

/** What of the listing may go. Containers and images of this project are ours by label and name; directories only when known. */
export function planRemoval(things: readonly Thing[], standing: Standing): Thing[] {
  const lower = (ids: readonly string[]) => new Set(ids.map((id) => id.toLowerCase()));
  const [running, images, open, known] = [
    standing.running,
    standing.images,
    standing.open,
    standing.known,
  ].map(lower);
  return things.filter(({ kind, name }) => {
    const id = name.toLowerCase();
    if (open?.has(id)) return false;
    if (kind === "container") return !running?.has(id);
    if (kind === "image") return !images?.has(id);
    return known?.has(id) === true;
  });
}

export function removeArguments(things: readonly Thing[]): string[] {
  return things.flatMap(({ kind, name }) => [kind, name]);
}
