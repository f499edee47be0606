/**
 * Starts the new container beside the old one, under a name made from the deployment, so that a second owner finds it
 * instead of starting another. Its loopback port is chosen by the database and stays the same over reboots. Nothing is
 * pulled: the image is here or the deployment fails.
 */
import type { Resources } from "../../../shared/domain/project.ts";
import { processIdentity } from "../../../shared/shell/scripts/process-identity.ts";
import { DeployFailure } from "../failure.ts";
import type { Environment } from "../snapshot.ts";
import { passEnvironment } from "./environment.ts";
import type { Names } from "./names.ts";

export interface ReleaseRequest {
  names: Names;
  ids: { organizationId: string; projectId: string; deploymentId: string };
  imageId: string;
  /** A kept image gets the deployment's own tag; a built one has it. */
  tagImage: boolean;
  hostPort: number;
  containerPort: number;
  init: boolean;
  resources: Resources;
  environment: Environment;
  /** Container to stop first, where two must not run at once (`recreate`). */
  stopFirst: string | null;
}

/**
 * `$1` container, `$2` network, `$3` project, `$4` tag to give the image or empty, `$5` image id, `$6` container to stop first or empty,
 * then the client's arguments for `run`, without environment and image. The environment on standard input.
 * Answers `<boot>|<pid>|<address>|<health check as JSON>`. Exit 61: the port is taken, and who
 * listens where; 62: the image is gone.
 */
export const releaseScript = `${processIdentity}
container=$1 network=$2 project=$3 tag=$4 image=$5 stop_first=$6
shift 6
export HOME="\${HOME:-/root}" LC_ALL=C
slipway_environment=$(cat)
make_network() {
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
report() {
  boot_identity
  docker container inspect --format \\
    "$boot"'|{{.State.Pid}}|{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}|{{json .Config.Healthcheck}}' "$container"
}
# Beside the other commands: each start of the client takes as long as all of our own work here.
tagging=
[ -z "$tag" ] || { docker image tag "$image" "$tag" >/dev/null 2>&1 & tagging=$!; }
tagged() { [ -z "$tagging" ] || wait "$tagging"; }
found=$(docker inspect --format '{{.Name}}' "$container" "$network" 2>/dev/null)
case $found in
  */"$container"*)
    [ "$(docker container inspect --format '{{.State.Status}}' "$container")" = running ] && { report; exit; }
    docker rm --force "$container" >/dev/null 2>&1
    ;;
esac
case $found in *"$network"*) ;; *) make_network || exit 1 ;; esac
[ -z "$stop_first" ] || { tagged || exit 62; docker stop --time 10 "$stop_first" >/dev/null 2>&1; }
set -- docker run --detach --pull never --name "$container" --network "$network" --env-file /dev/stdin "$@" "$image"
problem=$( ( eval "$slipway_environment"; printf '%s' "$slipway_env_file" | "$@" ) 2>&1 >/dev/null ) && { tagged || exit 62; report; exit; }
docker rm --force "$container" >/dev/null 2>&1
printf '%s\\n' "$problem" >&2
case $problem in
  *'port is already allocated'*|*'address already in use'*)
    docker ps --format '{{.Ports}}'
    while read -r _ local _ state _; do [ "$state" != 0A ] || echo "$local"; done <<END
$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
END
    exit 61
    ;;
  *'No such image'*) exit 62 ;;
esac
exit 1
`;

export function releaseArguments(request: ReleaseRequest): { argv: string[]; stdin: string } {
  const { names, ids, hostPort, containerPort, resources } = request;
  const environment = { ...request.environment, PORT: String(containerPort) };
  const passed = passEnvironment(environment);
  return {
    argv: [
      ...[names.container, names.network, ids.projectId, request.tagImage ? names.image : ""],
      ...[request.imageId, request.stopFirst ?? ""],
      ...["--restart", "unless-stopped", "--publish", `127.0.0.1:${hostPort}:${containerPort}`],
      ...[
        "--label",
        `slipway.organization=${ids.organizationId}`,
        "--label",
        `slipway.project=${ids.projectId}`,
      ],
      ...["--label", `slipway.deployment=${ids.deploymentId}`],
      ...["--log-driver", "json-file", "--log-opt", "max-size=10m", "--log-opt", "max-file=3"],
      ...(request.init ? ["--init"] : []),
      ...(resources.cpus === undefined ? [] : ["--cpus", String(resources.cpus)]),
      ...(resources.memoryMB === undefined ? [] : ["--memory", `${resources.memoryMB}m`]),
      ...passed.argv,
    ],
    stdin: passed.stdin,
  };
}

/** What must be known to ask the container how it is. */
export interface StartedContainer {
  /** Of the server: after another boot pid and address are those of something else. */
  boot: string;
  pid: number;
  address: string;
  /** The image's own check as an argument vector, or null. */
  check: readonly string[] | null;
}

export function readStarted(stdout: string): StartedContainer {
  const [, boot, pid, address, health] =
    /^([0-9a-f-]+)\|(\d+)\|([0-9a-f.:]*)\|(.*)$/.exec(stdout.trim()) ?? [];
  if (boot === undefined || pid === undefined || address === undefined || health === undefined) {
    throw new Error("the server did not say how the container started");
  }
  const declared = JSON.parse(health) as { Test?: string[] } | null;
  return { boot, pid: Number(pid), address, check: checkOf(declared?.Test ?? []) };
}

function checkOf([kind, ...rest]: readonly string[]): readonly string[] | null {
  if (kind === "CMD" && rest.length > 0) return rest;
  return kind === "CMD-SHELL" && rest[0] !== undefined ? ["/bin/sh", "-c", rest[0]] : null;
}

/** The port on which the app is expected: as set, else as its environment says, else the only one that its image declares, else 3000. */
export function containerPortOf(
  asked: number | undefined,
  environment: Environment,
  exposed: readonly number[],
): number {
  const said = environment["PORT"] ?? "";
  const fromEnvironment =
    /^\d{1,5}$/.test(said) && Number(said) > 0 && Number(said) < 65_536 ? Number(said) : undefined;
  return asked ?? fromEnvironment ?? (exposed.length === 1 ? exposed[0] : undefined) ?? 3_000;
}

/** The port is in use by something that the database does not know of: another one is tried. */
export const portTakenExit = 61;

/** The ports that the script found in use: as the engine prints them, and in hex as the kernel does. */
export function readPortsInUse(stdout: string): number[] {
  const published = [...stdout.matchAll(/:(\d{1,5})->/g)].map(([, port]) => Number(port));
  const listening = [...stdout.matchAll(/^[0-9A-F]{8,32}:([0-9A-F]{4})$/gm)].map(([, port]) =>
    Number.parseInt(port ?? "", 16),
  );
  return [...new Set([...published, ...listening])];
}

const imageGoneExit = 62;

export function explainRelease(
  exitCode: number,
  stderr: string,
  redact: (text: string) => string,
): DeployFailure {
  const lines = redact(stderr.trim()).split("\n").slice(-20);
  if (exitCode === imageGoneExit) {
    const hint = "Deploy that commit again.";
    return new DeployFailure("image_gone", "The image is not on the server any more.", hint);
  }
  if (/cannot connect to the docker daemon/i.test(stderr)) {
    const hint = "Run the server's bootstrap, which installs and starts the container engine.";
    return new DeployFailure(
      "server_not_ready",
      "The server's container engine does not answer.",
      hint,
      lines,
    );
  }
  const hint = "The last lines are what the container engine said.";
  return new DeployFailure("container_not_started", "The container could not be started.", hint, lines);
}
