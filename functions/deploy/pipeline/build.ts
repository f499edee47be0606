/**
 * Builds the image in a unit of its own and notes what came out. The builder's processes do not belong to the unit (an
 * engine runs them), so every one of them carries the deployment's marker in its /etc/hosts: that is how a cancel finds
 * them and proves them gone. Tried: `--cgroup-parent` is ignored by the BuildKit of Docker 20.10, labels reach images
 * only; an extra host works with both builders, and its address is left out of their cache keys.
 */
import { DeployFailure } from "../failure.ts";
import { engineDown, engineFunction } from "./engine-api.ts";
import type { Names } from "./names.ts";
import type { BuildPlan } from "./plan.ts";

export interface BuildRequest {
  names: Names;
  plan: BuildPlan;
  rootDirectory: string | null;
  buildkit: boolean;
  ids: { organizationId: string; projectId: string; deploymentId: string };
}

/**
 * `$1` directory of the deployment, `$2` context, `$3` Dockerfile, `$4` its text or empty, `$5` tag, `$6` marker,
 * `$7` 1 for BuildKit, `$8`–`${10}` organization, project, deployment. The environment on standard
 * input, as a shell reads it. Answers in `$1/image`.
 */
export const buildScript = `${engineFunction}
set -eu
directory=$1 context=$2 dockerfile=$3 text=$4 tag=$5 marker=$6 buildkit=$7
organization=$8 project=$9 deployment=\${10}
export HOME="\${HOME:-/root}" DOCKER_BUILDKIT="$buildkit" BUILDKIT_PROGRESS=plain BUILDX_NO_DEFAULT_ATTESTATIONS=1
export DOCKER_SCAN_SUGGEST=false DOCKER_CLI_HINTS=false
( umask 077; cat >"$directory/environment" )
[ -z "$text" ] || printf '%s' "$text" >"$dockerfile"
set -- --file "$dockerfile" --tag "$tag" --add-host "slipway-build:$marker" \\
  --label "slipway.organization=$organization" --label "slipway.project=$project" \\
  --label "slipway.deployment=$deployment"
if [ -s "$directory/environment" ] && [ "$buildkit" = 1 ]; then
  set -- "$@" --secret "id=slipway-env,src=$directory/environment"
fi
[ "$buildkit" = 1 ] || set -- "$@" --force-rm
status=0
docker build "$@" "$context" || status=$?
rm -f "$directory/environment"
[ "$status" -eq 0 ] || exit "$status"
engine --fail "http://engine/images/$tag/json" >"$directory/image.next"
mv "$directory/image.next" "$directory/image"
`;

export function buildArguments(request: BuildRequest): string[] {
  const { names, plan, rootDirectory, buildkit, ids } = request;
  const root = rootDirectory === null ? names.source : `${names.source}/${rootDirectory}`;
  const context = plan.context === "." ? root : `${root}/${plan.context}`;
  const { dockerfile } = plan;
  const file = dockerfile.kind === "own" ? `${root}/${dockerfile.path}` : `${names.directory}/Dockerfile`;
  const text = dockerfile.kind === "own" ? "" : dockerfile.text;
  return [
    ...[names.directory, context, file, text, names.image, names.marker, buildkit ? "1" : "0"],
    ...[ids.organizationId, ids.projectId, ids.deploymentId],
  ];
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

/** What an unsuccessful build means. `tail` are its last lines, already redacted. */
export function explainBuild(exitCode: number, tail: readonly string[]): DeployFailure {
  const text = tail.join("\n");
  if (/no space left on device/i.test(text)) {
    return new DeployFailure(
      "disk_full",
      "The server's disk is full.",
      "Free space on the server, then deploy again.",
      tail,
    );
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
  const hint = "The last lines of the log say which step failed; correct it and push again.";
  return new DeployFailure("build_failed", "The build failed.", hint, tail);
}
