/**
 * Starts the new container beside the old one, under a name made from the deployment, so that a second owner finds it
 * instead of starting another. Its loopback port is chosen by the database and stays the same over reboots. Nothing is
 * pulled: the image is here or the deployment fails.
 */
import type { Resources } from "../../../shared/domain/project.ts";
import { processIdentity } from "../../../shared/shell/scripts/process-identity.ts";
import { DeployFailure } from "../failure.ts";
import type { Environment } from "../snapshot.ts";
import { engineDown, engineFunction, engineMessage, makeNetworkFunction } from "./engine-api.ts";
import { environmentList } from "./environment.ts";
import type { Names } from "./names.ts";
import { mountsOf, type Volume } from "./volumes.ts";

export interface ReleaseRequest {
  names: Names;
  ids: { organizationId: string; projectId: string; deploymentId: string };
  imageId: string;
  /** A kept image gets the deployment's own tag; a built one has it. */
  tagImage: boolean;
  hostPort: number;
  containerPort: number;
  init: boolean;
  /** `pids` on a server of the pool alone, where memory means memory and swap together. */
  resources: Resources & { pids?: number };
  volumes: readonly Volume[];
  environment: Environment;
  /** Container to stop first, where two must not run at once (`recreate`). */
  stopFirst: string | null;
}

/**
 * `$1` container, `$2` network, `$3` project, `$4` repository and `$5` tag to give the image or empty, `$6` image id, `$7` container to
 * stop first or empty; on standard input the container as the engine's API describes one, environment included.
 * Answers the identity of the boot, then what the engine says of the running container. Exit 61: the port is taken, and who listens where; 62: the image is gone.
 */
export const releaseScript = `${processIdentity}${engineFunction}
container=$1 network=$2 project=$3 repository=$4 tag=$5 image=$6 stop_first=$7
export HOME="\${HOME:-/root}" LC_ALL=C
at=http://engine
boot_identity
${makeNetworkFunction}found=$(engine -w '%{http_code} ' -o /dev/null "$at/containers/$container/json" -o /dev/null "$at/networks/$network") || exit 1
case $found in
  '200 '*)
    [ "$(docker container inspect --format '{{.State.Status}}' "$container")" = running ] \\
      && { echo "$boot"; engine "$at/containers/$container/json"; exit; }
    docker rm --force "$container" >/dev/null 2>&1
    ;;
esac
case $found in *' 200 ') ;; *) make_network || exit 1 ;; esac
if [ -n "$tag" ]; then
  tagged=$(engine -o /dev/null -w '%{http_code}' -X POST "$at/images/$image/tag?repo=$repository&tag=$tag")
  [ "$tagged" = 201 ] || exit 62
fi
[ -z "$stop_first" ] || docker stop --time 10 "$stop_first" >/dev/null 2>&1
said=$(engine -w '\\n%{http_code}\\n' -H 'Content-Type: application/json' --data-binary @- "$at/containers/create?name=$container" \\
  --next -sS --max-time 100 --unix-socket /var/run/docker.sock -w '\\n%{http_code}\\n' -X POST "$at/containers/$container/start" \\
  --next -sS --max-time 100 --unix-socket /var/run/docker.sock "$at/containers/$container/json") 
case $said in *'
204
'*) echo "$boot"; printf '%s\\n' "$said" | tail -n 1; exit ;; esac
docker rm --force "$container" >/dev/null 2>&1
printf '%s\\n' "$said" >&2
case $said in
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
  const { names, ids, tagImage, imageId, stopFirst } = request;
  return {
    argv: [
      ...[names.container, names.network, ids.projectId],
      ...(tagImage ? [names.imageRepository, names.imageTag] : ["", ""]),
      ...[imageId, stopFirst ?? ""],
    ],
    stdin: JSON.stringify(containerOf(request)),
  };
}

/** As the engine's API takes it (POST /containers/create). */
function containerOf({
  names,
  ids,
  imageId,
  hostPort,
  containerPort,
  init,
  resources,
  volumes,
  environment,
}: ReleaseRequest) {
  const port = `${containerPort}/tcp`;
  return {
    Image: imageId,
    Env: environmentList({ ...environment, PORT: String(containerPort) }),
    Labels: {
      "slipway.organization": ids.organizationId,
      "slipway.project": ids.projectId,
      "slipway.deployment": ids.deploymentId,
    },
    ExposedPorts: { [port]: {} },
    HostConfig: {
      NetworkMode: names.network,
      PortBindings: { [port]: [{ HostIp: "127.0.0.1", HostPort: String(hostPort) }] },
      RestartPolicy: { Name: "unless-stopped" },
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
      Mounts: mountsOf(volumes, ids.projectId),
      ...(init ? { Init: true } : {}),
      ...(resources.pids === undefined ? {} : confined(resources.pids, resources.memoryMB)),
      ...(resources.cpus === undefined ? {} : { NanoCpus: Math.round(resources.cpus * 1e9) }),
      ...(resources.memoryMB === undefined ? {} : { Memory: resources.memoryMB * 1024 * 1024 }),
    },
  };
}

/** What a neighbour's container gets beyond its share: no swap, no fork bomb, no way to more rights than it began with. */
function confined(pids: number, memoryMB = 0) {
  return { PidsLimit: pids, MemorySwap: memoryMB * 1024 * 1024, SecurityOpt: ["no-new-privileges"] };
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

/** Reads the script's answer. */
export function readStarted(stdout: string): StartedContainer {
  const [, boot, said] = /^([0-9a-f-]+)\n(\{.*\})\s*$/.exec(stdout) ?? [];
  if (boot === undefined || said === undefined)
    throw new Error("the server did not say how the container started");
  const { State, NetworkSettings, Config } = JSON.parse(said) as InspectedContainer;
  const [network] = Object.values(NetworkSettings.Networks);
  return {
    boot,
    pid: State.Pid,
    address: network?.IPAddress ?? "",
    check: checkOf(Config.Healthcheck?.Test ?? []),
  };
}

interface InspectedContainer {
  State: { Pid: number };
  NetworkSettings: { Networks: Record<string, { IPAddress: string }> };
  Config: { Healthcheck?: { Test?: string[] } | null };
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
  const lines = redact(engineMessage(stderr)).split("\n").slice(-20);
  if (exitCode === imageGoneExit) {
    const hint = "Deploy that commit again.";
    return new DeployFailure("image_gone", "The image is not on the server any more.", hint);
  }
  if (engineDown.test(stderr)) {
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
