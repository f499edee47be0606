/**
 * Removes from a server what was made for one project: containers, networks and images that carry its label, and
 * nothing else, and its folder. Volumes stay; a container is removed without `-v`. Says `gone` only after looking again.
 */

export const removeScript = `
project=$1
command -v docker >/dev/null || { echo gone; exit 0; }
by_label() { docker "$@" --filter "label=slipway.project=$project"; }
containers() { by_label ps --all --quiet --no-trunc; }
found=$(containers) || exit 1
if [ -n "$found" ]; then
  docker stop --time 10 $found >/dev/null 2>&1
  docker rm --force $found >/dev/null || exit 1
fi
networks=$(by_label network ls --quiet) || exit 1
[ -z "$networks" ] || docker network rm $networks >/dev/null || exit 1
images=$(by_label image ls --quiet | sort -u)
[ -z "$images" ] || docker image rm --force $images >/dev/null 2>&1
rm -rf -- "/var/lib/slipway/projects/$project"
[ -z "$(containers)" ] && echo gone
`;
