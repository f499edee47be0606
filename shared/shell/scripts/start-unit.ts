/**
 * Starts a unit once. The job (and the command's input) come on stdin with their lengths as arguments, because a cut connection looks
 * like an end of input; only then, under the fence's lock, the name is taken and the unit started. Static text;
 * $1 operations folder, $2 operation, $3 step, $4 limit in seconds, $5 bytes of the job, $6 bytes of input or "-",
 * $7 fence file or "-", $8 token, $9 seconds to wait for the lock.
 */
import { fenceFunctions } from "./fence.ts";
import { processIdentity } from "./process-identity.ts";

export const startUnitScript = `${processIdentity}${fenceFunctions}
umask 066
mkdir -p -- "$1" || exit 1
umask 077
mkdir -p -- "$1/$2" || exit 1
base=$1/$2/$3
[ ! -e "$base.started" ] || { echo already; exit 0; }
trap 'rm -f -- "$base.job.$$" "$base.stdin.$$"' EXIT
trap 'exit 1' HUP INT TERM PIPE
head -c "$5" >"$base.job.$$" || exit 1
[ "$(stat -c %s "$base.job.$$")" -eq "$5" ] || { echo "the job was cut short" >&2; exit 1; }
if [ "$6" != - ]; then
  cat >"$base.stdin.$$" || exit 1
  [ "$(stat -c %s "$base.stdin.$$")" -eq "$6" ] || { echo "the input was cut short" >&2; exit 1; }
fi
[ "$7" = - ] || fence_enter "$7" "$8" "$9"
boot_identity
( set -C; echo "$boot" >"$base.started" ) 2>/dev/null || { echo already; exit 0; }
[ "$6" = - ] || mv -f -- "$base.stdin.$$" "$base.stdin" || exit 1
mv -f -- "$base.job.$$" "$base.job" || exit 1
: >>"$base.log"
wait_ms=0
if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null; then
  systemd-run --quiet --collect --unit="slipway-$2-$3" \\
    --property=KillMode=control-group --property=TimeoutStopSec=5 --property=RuntimeMaxSec="$(($4 + 30))" \\
    /bin/sh "$base.job" </dev/null >/dev/null 9>&-
else
  # sudo and the session leave things in the environment, such as this whole text.
  env -i PATH="$PATH" setsid /bin/sh "$base.job" </dev/null >/dev/null 2>&1 9>&- &
  # Without a control group a stop finds the unit by its record only, so that must be there.
  wait_ms=5000
fi || { rm -f -- "$base.started" "$base.job" "$base.stdin"; exit 1; }
waited=0
until [ -e "$base.pid" ] || [ -e "$base.exit" ] || [ "$waited" -ge "$wait_ms" ]; do
  pause 0.01
  waited=$((waited + 10))
done
echo started
`;
