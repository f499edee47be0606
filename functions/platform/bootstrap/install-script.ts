/**
 * The one script that makes a server ready. Runs as root in a detached unit; every step looks first and does only what
 * is missing, so it may run again at any time, also after it was cut off in the middle. What it cannot or may not do it
 * refuses with a code and a sentence, before it has touched anything where that can be known.
 * Rejected: replacing what a person has set up (an engine, a Caddy with its own Caddyfile, whoever listens on 80).
 */
import { adminSocket, proxyConfiguration, proxyDirectory } from "../../../shared/proxy/configuration.ts";

/**
 * Our own unit beside the distribution's, which serves its Caddyfile. Caddy opens new sockets at each load and closes the
 * old ones; without tcp_migrate_req (Linux 5.14) the connections that wait in them are reset: 1 % under load in a test.
 */
const unit = `[Unit]
Description=Slipway proxy: serves what the platform has told this server to serve
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
User=caddy
Group=caddy
UMask=0077
RuntimeDirectory=slipway
ExecStartPre=-+/bin/sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_migrate_req'
Environment=XDG_DATA_HOME=${proxyDirectory}/data XDG_CONFIG_HOME=${proxyDirectory}/data
ExecStart=/usr/bin/caddy run --config ${proxyDirectory}/caddy.json
TimeoutStopSec=10s
Restart=always
RestartSec=1s
LimitNOFILE=1048576
PrivateTmp=true
ProtectSystem=full
ProtectHome=true
NoNewPrivileges=true
AmbientCapabilities=CAP_NET_BIND_SERVICE

[Install]
WantedBy=multi-user.target`;

/** `$1`: id of the server, which from now on is the only one whose routes its proxy takes. */
export const installScript = `
umask 022
export LC_ALL=C DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
server=$1 dir=${proxyDirectory} socket=${adminSocket} unit=slipway-proxy.service
phase() { printf 'slipway-phase %s\\n' "$1"; }
refuse() { printf 'slipway-refused %s %s\\n' "$1" "$2"; exit 20; }

phase prepare
name=$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | head -n 1 | tr -d '"')
command -v apt-get >/dev/null || refuse unsupported_os "Slipway sets up Debian and Ubuntu; this is \${name:-another system}."
[ -d /run/systemd/system ] || refuse no_systemd "This server does not run systemd, which keeps the proxy running."

# Who listens on a port (in hex): "<pid> <program> <unit>".
listener() {
  inode=$(awk -v port=":$1" '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  [ -n "$inode" ] || return 1
  holder=$(find /proc/[0-9]*/fd -lname "socket:\\[$inode\\]" 2>/dev/null | head -n 1)
  pid=\${holder#/proc/}; pid=\${pid%%/*}
  [ -n "$pid" ] || { echo "0 unknown unknown"; return 0; }
  echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null | tr ' ' '_') $(sed -n 's,^0::.*/,,p;s,^1:name=systemd:.*/,,p' "/proc/$pid/cgroup" 2>/dev/null | head -n 1)"
}
main_pid() { systemctl show --property MainPID --value "$1" 2>/dev/null; }
# The package's own site, as it was installed.
default_caddy() { command -v caddy >/dev/null && ! dpkg --verify caddy 2>/dev/null | grep -q Caddyfile; }
for port in 80 443; do
  hex=0050; [ "$port" = 443 ] && hex=01BB
  found=$(listener "$hex") || continue
  set -- $found
  [ "$1" = "$(main_pid "$unit")" ] && continue
  [ "$1" = "$(main_pid caddy.service)" ] && default_caddy && continue
  refuse port_taken "Port $port is taken by $2 (process $1, \${3:-no unit}). Slipway's proxy needs ports 80 and 443; stop that program or give it another port, then try again."
done

phase install
missing=
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need git git
need curl curl
need restic restic
need flock util-linux
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing="$missing ca-certificates"
if command -v docker >/dev/null; then echo "Keeping the engine that is here: $(docker --version 2>/dev/null)"
else
  missing="$missing docker.io"
  [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] && need apparmor_parser apparmor
fi
if ! command -v caddy >/dev/null; then
  missing="$missing caddy"
  # The package would start its default site on port 80.
  systemctl mask --quiet caddy.service 2>/dev/null
fi
apt() { apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"; }
update() {
  tries=0
  until apt update >/run/slipway-apt.log 2>&1; do
    tries=$((tries + 1))
    grep -q 'Could not get lock' /run/slipway-apt.log && [ "$tries" -lt 30 ] || { tail -n 20 /run/slipway-apt.log; rm -f /run/slipway-apt.log; return 1; }
    [ "$tries" = 1 ] && echo "Waiting for another apt to finish"
    sleep 10
  done
  rm -f /run/slipway-apt.log
}
# What an earlier run, cut off in the middle, left half configured.
[ -z "$(ls -A /var/lib/dpkg/updates 2>/dev/null)" ] || dpkg --configure -a
if [ -n "$missing" ]; then
  echo "Installing:$missing"
  update || refuse packages_failed "The package lists could not be fetched. Check the server's network, DNS and apt sources."
  for package in $missing; do
    apt-cache show --no-all-versions "$package" >/dev/null 2>&1 || refuse package_missing "\${name:-This system} has no package $package. Install it by hand, then try again."
  done
  apt install -y --no-install-recommends $missing || refuse packages_failed "Packages could not be installed; the lines above say why."
else
  echo "Nothing to install"
fi

phase engine
docker version >/dev/null 2>&1 || systemctl enable --now --quiet docker.service 2>/dev/null
tries=0
until docker version >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || { systemctl status --no-pager --lines 20 docker.service; refuse engine_failed "The container engine does not answer; the lines above say why."; }
  sleep 0.5
done
systemctl is-enabled --quiet docker.service 2>/dev/null || systemctl enable --quiet docker.service 2>/dev/null
# Since version 23 BuildKit is a program of its own.
version=$(docker version --format '{{.Server.Version}}')
if [ "\${version%%.*}" -ge 23 ] 2>/dev/null && ! docker buildx version >/dev/null 2>&1; then
  apt-cache show docker-buildx >/dev/null 2>&1 || update
  apt install -y --no-install-recommends docker-buildx || refuse packages_failed "docker-buildx could not be installed; the lines above say why."
fi
echo "Engine $version"

phase proxy
if systemctl is-active --quiet caddy.service && default_caddy; then systemctl disable --now --quiet caddy.service; fi
mkdir -p "$dir" && chmod 711 /var/lib/slipway && chmod 755 "$dir" && install -d -m 0700 -o caddy -g caddy "$dir/data" \\
  || refuse proxy_failed "The folder of the proxy could not be made."
exec 8>"$dir/lock"
flock -w 60 8 || refuse proxy_failed "The proxy's configuration is locked by something else."
[ "$(cat "$dir/owner" 2>/dev/null)" = "$server" ] || echo "$server" >"$dir/owner"
# A database that was restored counts from an older revision; what follows this script sends the present one.
rm -f "$dir/revision"
empty='${JSON.stringify(proxyConfiguration([]))}'
[ -s "$dir/caddy.json" ] || printf '%s' "$empty" >"$dir/caddy.json"
cat >"/etc/systemd/system/$unit.new" <<'UNIT'
${unit}
UNIT
if cmp -s "/etc/systemd/system/$unit.new" "/etc/systemd/system/$unit"; then rm "/etc/systemd/system/$unit.new"
else
  mv "/etc/systemd/system/$unit.new" "/etc/systemd/system/$unit"
  systemctl daemon-reload
  systemctl is-active --quiet "$unit" && systemctl restart --no-block "$unit"
fi
systemctl is-enabled --quiet "$unit" 2>/dev/null || systemctl enable --quiet "$unit"
systemctl start --no-block "$unit"
answers() { curl -sf --max-time 2 --unix-socket "$socket" -o /dev/null http://localhost/config/; }
wait_for_proxy() {
  tries=0
  until answers; do
    tries=$((tries + 1)); [ "$tries" -lt 60 ] || return 1
    sleep 0.25
  done
}
if ! wait_for_proxy; then
  journalctl --no-pager --quiet --lines 20 --unit "$unit"
  echo "Starting the proxy with an empty configuration; the platform sends the present one afterwards"
  mv "$dir/caddy.json" "$dir/caddy.json.broken"; printf '%s' "$empty" >"$dir/caddy.json"
  systemctl restart --no-block "$unit"
  wait_for_proxy || { journalctl --no-pager --quiet --lines 20 --unit "$unit"; refuse proxy_failed "The proxy does not start; the lines above say why."; }
fi
echo "Proxy $(caddy version)"

phase check
git --version || refuse check_failed "git does not run."
restic version || refuse check_failed "restic does not run."
docker info --format 'Engine {{.ServerVersion}}, storage {{.Driver}}' || refuse check_failed "The engine does not answer."
answers || refuse check_failed "The proxy does not answer."
`;
