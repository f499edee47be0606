/**
 * Looks at the fetched source: which files lie in the root directory, what package.json says, what the builder can do.
 * One short command that changes nothing. Links are left out and the root directory must lie inside the source, so
 * that no repository can make the server read, or send to a builder, a file of its own.
 */
import { DeployFailure } from "../failure.ts";
import type { Inspection } from "./detect.ts";
import { engineFunction } from "./engine-api.ts";

/** `$1` directory of the deployment, `$2` root directory or empty, `$3` output directory or empty. Fields end with NUL. */
export const inspectScript = `${engineFunction}
directory=$1 root=$2 output=$3
field() { printf '%s\\0' "$1" "$2"; }
inside() { case $1/ in "$source"/*) return 0 ;; *) return 1 ;; esac; }
cd "$directory/source" && source=$(pwd -P) || exit 1
field commit "$(cat "$directory/commit")"
if ! { cd "./$root" 2>/dev/null && here=$(pwd -P) && inside "$here"; }; then field root missing; exit 0; fi
if [ -n "$output" ] && there=$(cd "./$output" 2>/dev/null && pwd -P) && inside "$there"; then field output yes; fi
buildkit=no
for place in /usr/libexec /usr/lib /usr/local/lib /usr/local/libexec; do
  if [ -x "$place/docker/cli-plugins/docker-buildx" ]; then buildkit=yes; fi
done
if [ "$buildkit" = no ]; then
  # "/version" would start three programs of the engine's to ask them for theirs.
  case $(engine --head http://engine/_ping) in *'Server: Docker/19.'*|*'Server: Docker/20.'*) buildkit=yes ;; esac
fi
[ "$buildkit" = no ] || field buildkit yes
count=0
for name in * .[!.]*; do
  [ "$count" -lt 2000 ] || break
  count=$((count + 1))
  if [ -L "$name" ]; then continue
  elif [ -f "$name" ]; then field file "$name"
  elif [ -d "$name" ]; then field directory "$name"
  fi
done
if [ -f package.json ] && [ ! -L package.json ]; then printf 'package\\0'; head -c 524288 package.json; fi
exit 0
`;

export interface SourceReport {
  commitSha: string;
  commitMessage: string;
  /** Whether the root directory of the project is a directory inside the source. */
  rootFound: boolean;
  inspection: Inspection;
  /** Whether BuildKit builds without anything to install: the embedded one of old engines, or buildx. */
  buildkit: boolean;
}

export function readInspection(stdout: string): SourceReport {
  const fields = pairs(stdout);
  const all = (key: string) => fields.filter(([name]) => name === key).map(([, value]) => value);
  const [commitSha = "", ...message] = (all("commit")[0] ?? "").split("\n");
  if (!/^[0-9a-f]{40,64}$/.test(commitSha)) throw new Error("the server reported no commit");
  return {
    commitSha,
    commitMessage: message.join("\n").trim().slice(0, 2_000),
    rootFound: all("root").length === 0,
    inspection: {
      files: all("file"),
      directories: all("directory"),
      packageJson: all("package")[0] ?? null,
      outputExists: all("output").length > 0,
    },
    buildkit: all("buildkit").length > 0,
  };
}

export function rootNotFound(): DeployFailure {
  return new DeployFailure(
    "root_directory_not_found",
    "The root directory of the project is no directory of the repository.",
    "Check rootDirectory of the project; it is relative to the top of the repository.",
  );
}

/** package.json comes last and whole, whatever bytes it holds. */
function pairs(stdout: string): [string, string][] {
  const found: [string, string][] = [];
  for (let at = 0; at < stdout.length; ) {
    const keyEnd = stdout.indexOf("\0", at);
    if (keyEnd < 0) break;
    const key = stdout.slice(at, keyEnd);
    const valueEnd = key === "package" ? stdout.length : stdout.indexOf("\0", keyEnd + 1);
    if (valueEnd < 0) break;
    found.push([key, stdout.slice(keyEnd + 1, valueEnd)]);
    at = valueEnd + 1;
  }
  return found;
}
