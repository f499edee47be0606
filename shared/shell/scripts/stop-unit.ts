/**
 * Stops a unit with everything that it started, and proves it. systemd ends the control group; without it, or for what escaped it, the
 * unit's processes are found by marker and session. The wrapper is ended last and only if it is still the process that was recorded:
 * TERM reaches its command first, so it can write the exit file. Static text; $1 the unit's path without suffix, $2 the unit's name.
 * Answers "gone" or "left <numbers>".
 */
import { processIdentity, unitProcesses } from "./process-identity.ts";

export const stopUnitScript = `${processIdentity}${unitProcesses}
wrapper=
boot_identity
if { read -r unit_number unit_started unit_boot <"$1.pid"; } 2>/dev/null; then
  [ "$unit_boot" = "$boot" ] && start_time "$unit_number" && [ "$started" = "$unit_started" ] && wrapper=$unit_number
fi
leader=
if [ -n "$wrapper" ]; then
  session_of "$wrapper"
  [ "$session" != "$wrapper" ] || leader=$wrapper
fi
if [ -d /run/systemd/system ] && command -v systemctl >/dev/null; then
  systemctl stop "$2.service" >/dev/null 2>&1
fi
end_processes "$2" "$wrapper" "$leader" 25
waited=0
while [ -n "$wrapper" ] && start_time "$wrapper" && [ "$started" = "$unit_started" ]; do
  [ "$waited" -lt 5 ] || kill -s KILL "$wrapper" 2>/dev/null
  [ "$waited" -lt 20 ] || break
  pause 0.1
  waited=$((waited + 1))
done
rm -f -- "$1.job" "$1.stdin"
left=$(unit_processes "$2" "" "$leader")
if [ -z "$left" ]; then echo gone; else echo left $left; fi
`;
