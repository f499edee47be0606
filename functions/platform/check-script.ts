/**
 * One script that answers everything `check` tells, a line a fact. It runs as the user of the server and finds out for
 * itself whether it may become root, so that a missing sudo is an answer and not a failure.
 */
export const checkScript = `
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin:/usr/local/bin"
root=no; sudo=
if [ "$(id -u)" = 0 ]; then root=yes
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then root=yes; sudo="sudo -n"; fi
say() { printf '%s=%s\\n' "$1" "$2"; }
say sudo "$root"
say os "$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | head -n 1 | tr -d '"')"
say architecture "$(uname -m)"
[ -d /run/systemd/system ] && say systemd yes
if command -v docker >/dev/null; then
  engine=docker
  case $(docker --version 2>/dev/null) in *podman*|*Podman*) engine=podman ;; esac
  version=$($sudo timeout 5 docker version --format '{{.Server.Version}}' 2>/dev/null) && say "engine_$engine" "$version"
elif command -v podman >/dev/null; then
  say engine_podman "$(timeout 5 podman version --format '{{.Version}}' 2>/dev/null)"
fi
command -v caddy >/dev/null && say caddy "$(timeout 5 caddy version 2>/dev/null | head -n 1)"
[ -S /run/slipway/caddy-admin.sock ] && say proxy_runs yes
command -v git >/dev/null && say git yes
command -v curl >/dev/null && say curl yes
df -Pk /var/lib 2>/dev/null | awk 'NR==2 { print "disk_total_kb=" $2; print "disk_free_kb=" $4 }'
awk '/^MemTotal:/ { print "memory_total_kb=" $2 } /^MemAvailable:/ { print "memory_available_kb=" $2 }' /proc/meminfo
say done yes
`;

/** Facts by name, as the script said them; hostile or broken output loses facts, never more. */
export function readFacts(output: string): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const line of output.split("\n").slice(0, 100)) {
    const [, name, value] = /^([a-z_]{1,40})=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    facts.set(
      name,
      value
        .replace(/\p{Cc}+/gu, " ")
        .trim()
        .slice(0, 200),
    );
  }
  return facts;
}
