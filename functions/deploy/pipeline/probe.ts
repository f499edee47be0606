/**
 * Asks the new container whether it is well, until it is, or ends, or its time is over. One script asks many times on
 * the server, so that the answer comes within 50 ms of the app's first one without a round trip for each question. It
 * talks to the container's own address: the engine's proxy on the published port accepts connections for an app that
 * does not listen yet. Failures while time remains do not count. Only looks, so it needs no fence.
 */
import type { HealthCheck } from "../../../shared/domain/project.ts";
import { processIdentity } from "../../../shared/shell/scripts/process-identity.ts";
import { DeployFailure } from "../failure.ts";
import type { StartedContainer } from "./release.ts";

/**
 * For bash, whose /dev/tcp needs no client to be installed. `$1` container, `$2` pid, `$3` `http`, `exec` or `tcp`,
 * `$4` address, `$5` port, `$6` path, `$7` host name, `$8` seconds to go on asking, `$9` boot of the server when the container started; then
 * the argv of the image's check. Answers `healthy`, `restarted` (the server), `exited <status> <out of memory>` or `waiting <last answer>`, then the container's last lines.
 */
export const probeScript = `${processIdentity}
container=$1 pid=$2 mode=$3 address=$4 port=$5 path=$6 host=$7 budget=$8 boot_then=$9
shift 9
export LC_ALL=C
boot_identity
[ "$boot" = "$boot_then" ] || { echo restarted; exit 0; }
last='no answer yet'
ask_http() {
  local answer
  answer=$(timeout 5 bash -c '
    exec 3<>"/dev/tcp/$1/$2" || exit 1
    printf "GET %s HTTP/1.1\\r\\nHost: %s\\r\\nUser-Agent: slipway-health\\r\\nAccept: */*\\r\\nConnection: close\\r\\n\\r\\n" "$3" "$4" >&3
    IFS= read -r line <&3 && printf %s "\${line:0:100}"' ask "$address" "$port" "$path" "$host" 2>/dev/null)
  case $? in
    0) last=\${answer//[^[:print:]]/} ;;
    124) last='no answer within 5 seconds' ;;
    *) last='connection refused' ;;
  esac
  [[ $answer =~ ^HTTP/1\\.[01]\\ [23][0-9][0-9] ]]
}
ask_tcp() {
  timeout 2 bash -c 'exec 3<>"/dev/tcp/$1/$2"' ask "$address" "$port" 2>/dev/null && return 0
  last="nothing listens on port $port"
  return 1
}
ask_exec() {
  local answer
  answer=$(timeout 10 docker exec "$container" "$@" 2>&1) && return 0
  last=\${answer:0:300}
  last=\${last//[^[:print:]]/ }
  return 1
}
# From the engine's events: it may be restarting the container already, and then its state is that of the next try. The process is gone
# a moment before the engine tells it, so the events are asked again for a while.
how_it_ended() {
  local status='' memory=false action code now tries=0
  now=$(date +%s)
  while :; do
    while read -r action code; do
      case $action in oom) memory=true ;; die) [ -n "$status" ] || status=$code ;; esac
    done < <(timeout 5 docker events --since "$((now - 900))" --until "$(date +%s.%N)" --filter "container=$container" \\
      --filter event=die --filter event=oom --format '{{.Action}} {{index .Actor.Attributes "exitCode"}}' 2>/dev/null)
    if [ -n "$status" ]; then echo "exited $status $memory"; return; fi
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || break
    sleep 0.1
  done
  timeout 5 docker container inspect --format 'exited {{.State.ExitCode}} {{.State.OOMKilled}}' "$container" 2>/dev/null || echo 'exited - false'
}
last_lines() { docker logs --tail 40 "$container" 2>&1 | tail -c 20000; }
asked=0
while :; do
  if [ ! -d "/proc/$pid" ] || [ "$pid" = 0 ]; then
    how_it_ended
    last_lines
    exit 0
  fi
  if "ask_$mode" "$@"; then echo healthy; exit 0; fi
  [ "$SECONDS" -lt "$budget" ] || break
  asked=$((asked + 1))
  if [ "$asked" -lt 60 ]; then sleep 0.05; elif [ "$asked" -lt 100 ]; then sleep 0.25; else sleep 1; fi
done
printf 'waiting %s\\n' "$last"
last_lines
`;

export interface ProbeRequest {
  container: string;
  started: StartedContainer;
  healthCheck: HealthCheck;
  containerPort: number;
  /** Sent as `Host`, since many frameworks refuse names they do not know. */
  hostname: string;
  seconds: number;
}

export function probeArguments(request: ProbeRequest): string[] {
  const { container, started, healthCheck, containerPort, hostname, seconds } = request;
  const mode = healthCheck.path !== undefined ? "http" : started.check !== null ? "exec" : "tcp";
  return [
    ...[container, String(started.pid), mode, started.address, String(healthCheck.port ?? containerPort)],
    ...[healthCheck.path ?? "/", hostname, String(seconds), started.boot],
    ...(mode === "exec" ? (started.check ?? []) : []),
  ];
}

export type ProbeAnswer =
  | { verdict: "healthy" }
  | { verdict: "restarted" }
  | { verdict: "exited"; status: string; outOfMemory: boolean; lines: string[] }
  | { verdict: "waiting"; last: string; lines: string[] };

export function readProbe(stdout: string): ProbeAnswer {
  const [first = "", ...rest] = stdout.split("\n");
  if (first === "healthy" || first === "restarted") return { verdict: first };
  const lines = rest
    .map((line) => line.replace(/\r$/, ""))
    .filter((line, at) => line !== "" || at < rest.length - 1);
  const [, status, outOfMemory] = /^exited (\S+) (true|false)$/.exec(first) ?? [];
  if (status !== undefined) return { verdict: "exited", status, outOfMemory: outOfMemory === "true", lines };
  if (first.startsWith("waiting "))
    return { verdict: "waiting", last: first.slice("waiting ".length), lines };
  throw new Error("the server did not say how the container is");
}

export type BadAnswer = Exclude<ProbeAnswer, { verdict: "healthy" | "restarted" }>;

/** `answer` with its lines already redacted. */
export function explainProbe(
  answer: BadAnswer,
  healthCheck: HealthCheck,
  port: number,
  timeoutSeconds: number,
): DeployFailure {
  const tail = answer.lines.slice(-20);
  if (answer.verdict === "exited") {
    const how = answer.outOfMemory ? "ran out of memory" : `ended with status ${answer.status}`;
    const hint = answer.outOfMemory
      ? "Raise resources.memoryMB of the project, or make the app use less."
      : "Its last lines say why; the version before goes on serving.";
    return new DeployFailure("container_exited", `The new container ${how} as it started.`, hint, tail);
  }
  const what = healthCheck.path === undefined ? "" : ` to GET ${healthCheck.path}`;
  const hint =
    healthCheck.path === undefined
      ? `The app must listen on port ${port} of all addresses (the variable PORT says it), or set build.port.`
      : `It must answer with a status from 200 to 399 on port ${healthCheck.port ?? port}; see healthCheck of the project.`;
  const message = `The new container gave no good answer${what} within ${timeoutSeconds} s; the last one: ${answer.last}.`;
  return new DeployFailure("health_check_failed", message, hint, tail);
}
