/**
 * The one script that gives a server what its proxy should serve: under a lock it refuses what is older than what the
 * server has, hands a changed configuration to the proxy, keeps it for the next boot only after the proxy took it, and
 * moves the traffic of every project to its port. All that varies arrives as arguments and on standard input.
 * Rejected: writing the file first (a configuration that the proxy refuses would be served after the next reboot), and a
 * load for each new version (it closes idle connections; decision 0006).
 * Before a load clients are told for 100 ms to open new connections (`announce` in configuration.ts): none is lost.
 * Whoever asked may be gone by the time of the answer. A closed channel must not end the script then (SIGPIPE): once it
 * did, the announcement stayed, and every later answer of the proxy closed its connection.
 */
import { adminSocket, announceFile, portsDirectory, proxyDirectory } from "./configuration.ts";

/** What the script says in its first line. */
export type ApplyVerdict = "applied" | "superseded" | "foreign" | "busy" | "down" | "refused";

/**
 * `$1` revision, `$2` id of the server, `$3` number of projects; on standard input a line `<project> <port>` for each,
 * then the configuration.
 * The bootstrap writes the id into `owner`: two platforms, or two entries for one machine, never fight over its routes.
 * A file that loses its traffic is made old at once, whatever the clock says, and removed a minute later: a request that
 * has read the folder before still finds it.
 */
export const applyScript = `
umask 022
trap '' PIPE
revision=$1 server=$2 projects=$3 dir=${proxyDirectory} ports=${portsDirectory} socket=${adminSocket} announce=${announceFile}
[ -d "$ports" ] && [ -d "$dir" ] || { mkdir -p "$dir" "$ports" && chmod 711 /var/lib/slipway; } || exit 1
exec 8>"$dir/lock" || exit 1
flock -w 10 8 || { echo busy; exit 0; }
owner= stored=
{ read -r owner <"$dir/owner"; read -r stored <"$dir/revision"; } 2>/dev/null
[ -n "$owner" ] || { echo down; exit 0; }
[ "$owner" = "$server" ] || { echo foreign; exit 0; }
case $stored in ''|*[!0-9]*) stored=0 ;; esac
[ "$stored" -le "$revision" ] || { echo "superseded $stored"; exit 0; }
[ -S "$socket" ] && command -v curl >/dev/null || { echo down; exit 0; }
ask() { curl -sS --max-time 10 --unix-socket "$socket" -o "$dir/reply" -w '%{http_code}' "$@" 2>/dev/null; }
# The traffic of project $1 goes to port $2 from here on.
point() {
  folder=$ports/$1 to=$ports/$1/127.0.0.1:$2 move=
  [ -e "$to" ] || move=yes
  for file in "$folder"/*; do [ "$file" = "$to" ] || [ "$to" -nt "$file" ] || move=yes; done
  [ -n "$move" ] || return 0
  touch "$to" || exit 1
  for file in "$folder"/*; do [ "$file" = "$to" ] || touch -c -d @1 "$file"; done
  moved="$moved $folder"
}
listed=' ' fresh= moved=
# A project that is not served yet gets its port before its route; until then nothing looks there.
while [ "$projects" -gt 0 ] && IFS=' ' read -r project port; do
  projects=$((projects - 1))
  listed="$listed$project:$port "
  if [ ! -d "$ports/$project" ]; then
    fresh="$fresh $project"
    mkdir "$ports/$project" && : >"$ports/$project/127.0.0.1:$port" || exit 1
  fi
done
cat >"$dir/caddy.json.next" || exit 1
# Also what a killed script has left.
trap 'rm -f "$announce" "$dir/caddy.json.next" "$dir/reply"' EXIT
changed=
cmp -s "$dir/caddy.json.next" "$dir/caddy.json" || changed=yes
if [ -z "$changed" ]; then
  code=$(ask http://localhost/config/admin/config)
else
  : >"$announce" && sleep 0.1
  code=$(ask -H 'Content-Type: application/json' --data-binary "@$dir/caddy.json.next" http://localhost/load)
fi
curl_status=$?
if [ "$code" != 200 ]; then
  for project in $fresh; do rm -rf "$ports/$project"; done
  if [ "$curl_status" = 7 ]; then echo down; else echo refused; head -c 500 "$dir/reply" 2>/dev/null; fi
  exit 0
fi
for each in $listed; do point "\${each%%:*}" "\${each#*:}"; done
echo applied
[ -z "$moved" ] || sync $moved
if [ -n "$changed" ]; then
  sync "$dir/caddy.json.next"
  mv "$dir/caddy.json.next" "$dir/caddy.json" || exit 1
  for folder in "$ports"/*; do
    case $listed in *" \${folder##*/}:"*) ;; *) rm -rf "$folder" ;; esac
  done
fi
echo "$revision" >"$dir/revision.next" && mv "$dir/revision.next" "$dir/revision" || exit 1
find "$ports" -mindepth 2 -type f ! -newermt @2 -cmin +1 -delete
`;
