/**
 * Builds the image in a unit of its own and notes what came out. The builder's processes do not belong to the unit (an
 * engine runs them), so every one of them carries the deployment's marker in its /etc/hosts: that is how a cancel finds
 * them and proves them gone. Tried: `--cgroup-parent` is ignored by the BuildKit of Docker 20.10, labels reach images
 * only; an extra host works with both builders, and its address is left out of their cache keys.
 *
 * Credentials of registries come on standard input. Those that the Dockerfile names reach the engine's client as a
 * configuration that is a link to a file deleted before it had content, held open by the script: a build that is killed
 * leaves no secret. Rejected: `docker login` (it writes into the account's own configuration).
 */
import { engineAddress } from "../../../shared/domain/registry.ts";
import { DeployFailure } from "../failure.ts";
import type { RegistryAccess } from "../registry-access.ts";
import type { Environment } from "../snapshot.ts";
import { engineDown, engineFunction, makeNetworkFunction } from "./engine-api.ts";
import { environmentFile } from "./environment.ts";
import { diskFull } from "./full-disk.ts";
import type { Names } from "./names.ts";
import type { BuildPlan } from "./plan.ts";

export interface BuildRequest {
  names: Names;
  plan: BuildPlan;
  rootDirectory: string | null;
  buildkit: boolean;
  ids: { organizationId: string; projectId: string; deploymentId: string };
  /** On a server of the pool: what each step may take. null: whatever there is. */
  share: { cpus: number; memoryMB: number } | null;
}

/**
 * `$1` directory of the deployment, `$2` context, `$3` Dockerfile, `$4` its text or empty, `$5` tag, `$6` marker,
 * `$7` 1 for BuildKit, `$8`–`${10}` organization, project, deployment, `${11}` network or empty, and with one `${12}` bytes of memory
 * and `${13}` CPU time in 100 ms, in microseconds. On standard input what `buildInput` makes. Answers in `$1/image`.
 *
 * With a network it is a build among strangers, by the classic builder: BuildKit runs all steps on one bridge, where they
 * reach each other, knows no limits, and lets any Dockerfile mount any cache of the server.
 */
export const buildScript = `${engineFunction}${makeNetworkFunction}set -eu
directory=$1 context=$2 dockerfile=$3 text=$4 tag=$5 marker=$6 buildkit=$7
organization=$8 project=$9 deployment=\${10} network=\${11} memory=\${12} quota=\${13}
export HOME="\${HOME:-/root}" DOCKER_BUILDKIT="$buildkit" BUILDKIT_PROGRESS=plain BUILDX_NO_DEFAULT_ATTESTATIONS=1
export DOCKER_SCAN_SUGGEST=false DOCKER_CLI_HINTS=false
[ -z "$text" ] || printf '%s' "$text" >"$dockerfile"
auths=
while IFS=' ' read -r host address auth && [ -n "$host" ]; do
  [ "$host" = docker.io ] || grep -qF -- "$host" "$dockerfile" || continue
  auths="$auths\${auths:+,}\\"$address\\":{\\"auth\\":\\"$auth\\"}"
done
if [ -n "$auths" ]; then
  mkdir -p "$directory/docker"
  chmod 0700 "$directory/docker"
  exec 3<>"$directory/docker/held"
  rm -f "$directory/docker/held"
  printf '{"auths":{%s}}' "$auths" >&3
  auths=
  ln -sf "/proc/$$/fd/3" "$directory/docker/config.json"
  export DOCKER_CONFIG="$directory/docker"
fi
( umask 077; cat >"$directory/environment" )
set -- --file "$dockerfile" --tag "$tag" --add-host "slipway-build:$marker" \\
  --label "slipway.organization=$organization" --label "slipway.project=$project" \\
  --label "slipway.deployment=$deployment"
if [ -s "$directory/environment" ] && [ "$buildkit" = 1 ]; then
  set -- "$@" --secret "id=slipway-env,src=$directory/environment"
fi
[ "$buildkit" = 1 ] || set -- "$@" --force-rm
if [ -n "$network" ]; then
  # The client would read a file of the server through it.
  [ ! -L "$context/.dockerignore" ] || rm -f "$context/.dockerignore"
  docker network inspect "$network" >/dev/null 2>&1 || make_network
  set -- "$@" --network "$network" --memory "$memory" --memory-swap "$memory" --cpu-period 100000 --cpu-quota "$quota"
fi
status=0
docker build "$@" "$context" || status=$?
rm -rf "$directory/environment" "$directory/docker"
[ "$status" -eq 0 ] || exit "$status"
engine --fail "http://engine/images/$tag/json" >"$directory/image.next"
mv "$directory/image.next" "$directory/image"
`;

export function buildArguments(request: BuildRequest): string[] {
  const { names, plan, rootDirectory, buildkit, ids, share } = request;
  const root = rootDirectory === null ? names.source : `${names.source}/${rootDirectory}`;
  const context = plan.context === "." ? root : `${root}/${plan.context}`;
  const { dockerfile } = plan;
  const file = dockerfile.kind === "own" ? `${root}/${dockerfile.path}` : `${names.directory}/Dockerfile`;
  const text = dockerfile.kind === "own" ? "" : dockerfile.text;
  return [
    ...[names.directory, context, file, text, names.image, names.marker, buildkit ? "1" : "0"],
    ...[ids.organizationId, ids.projectId, ids.deploymentId],
    ...(share === null ? ["", "", ""] : [names.network, ...shareOf(share)]),
  ];
}

function shareOf({ cpus, memoryMB }: { cpus: number; memoryMB: number }): [string, string] {
  return [String(memoryMB * 1024 * 1024), String(Math.round(cpus * 100_000))];
}

/** A line for each registry, host, address and credential; an empty one; then the environment as a shell reads it. */
export function buildInput(registries: readonly RegistryAccess[], environment: Environment): string {
  const lines = registries.map(({ host, username, secret }) => {
    const auth = Buffer.from(`${username}:${secret}`).toString("base64");
    return `${host} ${engineAddress(host)} ${auth}\n`;
  });
  return `${lines.join("")}\n${environmentFile(environment)}`;
}

export interface BuiltImage {
  imageId: string;
  /** TCP ports that the image declares. */
  exposed: readonly number[];
}

/** Reads `image`: what the engine says of the image that the build left. */
export function readBuiltImage(text: string): BuiltImage {
  const { Id, Config } = JSON.parse(text) as {
    Id: string;
    Config?: { ExposedPorts?: Record<string, unknown> | null };
  };
  if (!/^sha256:[0-9a-f]{64}$/.test(Id)) throw new Error("the build left no image id");
  const exposed = Object.keys(Config?.ExposedPorts ?? {}).flatMap((key) => {
    const port = /^(\d+)\/tcp$/.exec(key)?.[1];
    return port === undefined ? [] : [Number(port)];
  });
  return { imageId: Id, exposed };
}

/** As engines of all ages say it of an image; a package registry's 401 inside a step is something else. */
const imageRefused =
  /pull access denied|no basic auth credentials|insufficient_scope|unauthorized: authentication required|(pulling from host|failed to (authorize|resolve|fetch)\b).*(\b40[13]\b|unauthorized|forbidden)/i;

/** What an unsuccessful build means. `tail` are its last lines, already redacted. */
export function explainBuild(exitCode: number, tail: readonly string[]): DeployFailure {
  const text = tail.join("\n");
  if (/no space left on device/i.test(text)) {
    return diskFull(tail);
  }
  if (exitCode === 127 || engineDown.test(text)) {
    const hint = "Run the server's bootstrap, which installs and starts the container engine.";
    return new DeployFailure(
      "server_not_ready",
      "The server's container engine does not answer.",
      hint,
      tail,
    );
  }
  if (imageRefused.test(text)) {
    return new DeployFailure(
      "image_not_allowed",
      "A registry does not hand out an image without a credential that it accepts.",
      "Add one for it with POST /api/registries (its check says whether it holds), then deploy again.",
      tail,
    );
  }
  const hint = "The last lines of the log say which step failed; correct it and push again.";
  return new DeployFailure("build_failed", "The build failed.", hint, tail);
}
