/**
 * What runs on the server around one detached command ("unit"). It stands at the end of a job file whose first lines, made by
 * shared/shell/detached.ts, define \`slipway_command\`, \`directory\`, \`limit\` and \`unit\`. The file removes itself first: secrets of
 * the environment are on the disk (0600) only until the unit starts, and never in an argument list. Static text.
 */
import { processIdentity, unitProcesses } from "./process-identity.ts";

/** What \`timeout\` answers for a command that ran out of time. */
export const timedOutExit = 124;

export const unitWrapper = `
base=\${0%.job}
rm -f -- "$0"
${processIdentity}${unitProcesses}
finish() {
  # What is asked here must not end by what ended the command: everything in the group gets the signal, newcomers too.
  trap '' TERM HUP INT
  # A server that shuts down ends the command, or what it needs; that is not how the command ended.
  if [ "$1" != 0 ] && [ "$(systemctl is-system-running 2>/dev/null)" = stopping ]; then set -- 1 down; fi
  umask 077
  echo "\${2:-$1}" >"$base.exit.new" && mv -f -- "$base.exit.new" "$base.exit"
  # What the command left behind ends with it, as in a control group.
  end_processes "$unit" "$$" "$session_leader" 20 </dev/null >/dev/null 2>&1
  exit "$1"
}
# A stop reaches the command and this shell at once; this one stays to write down how the command ended.
trap : TERM HUP INT
umask 077
session_of $$
session_leader=
[ "$session" != $$ ] || session_leader=$$
boot_identity
start_time $$
echo "$$ $started $boot" >"$base.pid.new" && mv -f -- "$base.pid.new" "$base.pid"
exec >>"$base.log" 2>&1
if [ -e "$base.stdin" ]; then exec <"$base.stdin"; rm -f -- "$base.stdin"; else exec </dev/null; fi
umask 022
export HOME="\${HOME:-/root}" PATH="\${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
( cd -- "$directory" && slipway_command timeout -k 5 "$limit" )
finish $?
`;
