/**
 * Removes from a server what was made for one project: containers, networks, images and, if asked, volumes that carry
 * its label, its folder and the folders of its deployments, and nothing else. Says `gone` only after looking again.
 * `$1` project, `$2` 1 for its volumes too. Ids of its deployments on standard input, one a line.
 */
export const removeScript = `
project=$1 with_volumes=$2
root=/var/lib/slipway
export HOME="\${HOME:-/root}" LC_ALL=C
while read -r id; do
  case $id in dep_*) ;; *) continue ;; esac
  [ -d "$root/operations/$id" ] || continue
  # A server that was out of reach may still work for a deployment that was given up.
  command -v systemctl >/dev/null && systemctl stop "slipway-$id-*.service" >/dev/null 2>&1
  rm -rf -- "$root/operations/$id" || exit 1
done
rm -rf -- "$root/projects/$project" || exit 1
command -v docker >/dev/null || { echo gone; exit 0; }
by_label() { docker "$@" --filter "label=slipway.project=$project"; }
containers() { by_label ps --all --quiet --no-trunc; }
volumes() { [ "$with_volumes" != 1 ] || by_label volume ls --quiet; }
tries=0
while found=$(containers) || exit 1; [ -n "$found" ]; do
  [ "$tries" -gt 0 ] || docker stop --time 10 $found >/dev/null 2>&1
  problem=$(docker rm --force $found 2>&1) && continue
  # A clean-up may be taking one of them away at this moment: the engine refuses then, and a while later it is gone.
  [ "$tries" -lt 50 ] || { printf '%s\\n' "$problem" >&2; exit 1; }
  tries=$((tries + 1))
  sleep 0.2
done
networks=$(by_label network ls --quiet) || exit 1
[ -z "$networks" ] || docker network rm $networks >/dev/null || exit 1
found=$(volumes) || exit 1
[ -z "$found" ] || docker volume rm $found >/dev/null || exit 1
images=$(by_label image ls --quiet | sort -u)
[ -z "$images" ] || docker image rm --force $images >/dev/null 2>&1
left=$(containers && volumes) && [ -z "$left" ] && echo gone
`;
