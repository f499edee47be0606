/**
 * Everything of ours on a server, as the server itself tells: containers, images, units, processes, sessions, files,
 * ports. Numbers and ids are taken out of processes, so that two inventories can be compared.
 */
import type { LabServer } from "../lab/server.ts";

export interface Inventory {
  containers: string[];
  images: string[];
  units: string[];
  processes: string[];
  sessions: string[];
  files: string[];
  /** That containers are reached by. */
  ports: number[];
}

/** One kind a line, then a space. A repository's objects and what other services keep in /tmp are none of ours. */
const script = `
docker ps -a --filter label=slipway.project --format 'containers {{.Names}} {{.State}}'
docker image ls --format 'images {{.Repository}}:{{.Tag}}' | grep ' slipway/'
systemctl list-units --all --plain --no-legend 'slipway-*' | grep -v '^slipway-proxy' | sed 's/^/units /'
ps -eo args= | sed 's/^/processes /'
find /var/lib/slipway /tmp /run/slipway* \\( -name repository.git -o -path '/tmp/systemd-private*' -o -path /var/lib/slipway/caddy/ports \\) -prune -o -print 2>/dev/null | sed 's/^/files /'
ss -Hltnp | grep docker-proxy | while read -r _ _ _ local _; do echo "ports \${local##*:}"; done
`;

export async function inventoryOf(server: LabServer): Promise<Inventory> {
  const lines = (await server.read(["sh", "-c", script])).split("\n");
  const of = (kind: string) =>
    lines.flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : [])).sort();
  const processes = of("processes");
  const isSession = (line: string) => /^sshd: \S+(@|\s|$)/.test(line) && !line.includes("[listener]");
  return {
    containers: of("containers"),
    images: of("images"),
    units: of("units"),
    sessions: processes.filter(isSession),
    processes: processes
      .filter((line) => !isSession(line) && !isOracle(line))
      .map(withoutNumbers)
      .sort(),
    files: of("files"),
    ports: of("ports").map(Number).sort(),
  };
}

/** The question itself, by whatever process of it is seen. */
function isOracle(line: string): boolean {
  return /^(sh -c\s|sh$|ps -eo|sed s\/|docker exec|find \/var|ss -H|\[)/.test(line);
}

function withoutNumbers(line: string): string {
  return line
    .replace(/\b[0-9a-f]{12,}\b/g, "<id>")
    .replace(/\d+/g, "N")
    .trimEnd();
}
