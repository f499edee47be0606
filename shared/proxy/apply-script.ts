/**
 * The one script that gives a server its proxy configuration: under a lock it refuses what is older than what the
 * server has, hands the configuration to the proxy, and keeps it for the next boot only after the proxy took it. All
 * that varies arrives as arguments and on standard input. Rejected: writing the file first (a configuration that the
 * proxy refuses would be served after the next reboot).
 * Clients are told 100 ms before to open new connections (see `announce` in configuration.ts): no request is lost.
 * Whoever asked may be gone by the time of the answer. A closed channel must not end the script then (SIGPIPE): once it
 * did, the announcement stayed, and every later answer of the proxy closed its connection.
 */
import { adminSocket, announceFile } from "./configuration.ts";

/** Everything about the proxy on a server. Readable by the proxy's own user, writable by root only. */
export const proxyDirectory = "/var/lib/slipway/caddy";

/** What the script says in its first line. */
export type ApplyVerdict = "applied" | "superseded" | "foreign" | "busy" | "down" | "refused";

/**
 * `$1` revision, `$2` id of the server; the configuration on standard input.
 * The bootstrap writes the id into `owner`: two platforms, or two entries for one machine, never fight over its routes.
 */
export const applyScript = `
umask 022
trap '' PIPE
revision=$1 server=$2 dir=${proxyDirectory} socket=${adminSocket} announce=${announceFile}
number() { case $1 in ''|*[!0-9]*) echo 0 ;; *) echo "$1" ;; esac; }
mkdir -p "$dir" && chmod 711 /var/lib/slipway && exec 8>"$dir/lock" || exit 1
flock -w 10 8 || { echo busy; exit 0; }
owner=$(cat "$dir/owner" 2>/dev/null)
[ -n "$owner" ] || { echo down; exit 0; }
[ "$owner" = "$server" ] || { echo foreign; exit 0; }
stored=$(number "$(cat "$dir/revision" 2>/dev/null)")
[ "$stored" -le "$revision" ] || { echo "superseded $stored"; exit 0; }
[ -S "$socket" ] && command -v curl >/dev/null || { echo down; exit 0; }
cat >"$dir/caddy.json.next" || exit 1
# Also one that a killed script has left.
trap 'rm -f "$announce" "$dir/caddy.json.next" "$dir/reply"' EXIT
if ! cmp -s "$dir/caddy.json.next" "$dir/caddy.json"; then
  : >"$announce" && sleep 0.1
fi
code=$(curl -sS --max-time 10 --unix-socket "$socket" -o "$dir/reply" -w '%{http_code}' \\
  -H 'Content-Type: application/json' --data-binary "@$dir/caddy.json.next" http://localhost/load 2>/dev/null)
curl_status=$?
if [ "$code" = 200 ]; then
  sync "$dir/caddy.json.next"
  mv "$dir/caddy.json.next" "$dir/caddy.json" && echo "$revision" >"$dir/revision.next" \\
    && mv "$dir/revision.next" "$dir/revision" || exit 1
  echo applied
elif [ "$curl_status" = 7 ]; then
  echo down
else
  echo refused
  head -c 500 "$dir/reply" 2>/dev/null
fi
`;
