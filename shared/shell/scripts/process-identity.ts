/**
 * How the server tells "still the same process" from "a process with the same number": the start time of the process and the identity
 * of the boot, which is boot id plus start time of PID 1, since in a container the boot id is the host's. Static text for the other
 * scripts; only shell builtins, no process is started for it.
 */
export const processIdentity = `
# Sets "started" to the start time of process $1; fails when it is gone or a zombie.
start_time() {
  started=
  { read -r stat_line <"/proc/$1/stat"; } 2>/dev/null || return 1
  stat_line=\${stat_line##*) }
  case $stat_line in Z*|X*) return 1 ;; esac
  set -- $stat_line
  shift 19
  started=$1
}
# Sets "session" to the session of process $1.
session_of() {
  session=
  { read -r stat_line <"/proc/$1/stat"; } 2>/dev/null || return 1
  stat_line=\${stat_line##*) }
  case $stat_line in Z*|X*) return 1 ;; esac
  set -- $stat_line
  session=$4
}
# Sets "boot".
boot_identity() {
  read -r boot </proc/sys/kernel/random/boot_id
  start_time 1
  boot=$boot-$started
}
pause() { sleep "$1" 2>/dev/null || sleep 1; }
`;

/**
 * All processes of a unit, however they detached themselves: those with the unit's marker in their environment and those of its session.
 * A process that drops both (its own session and an empty environment) is caught by the control group where systemd runs the unit.
 */
export const unitProcesses = `
# Prints the numbers of all processes of unit $1 except $2; $3 is the number of its wrapper, which leads its session.
unit_processes() {
  found=$(
    grep -lF "SLIPWAY_UNIT=$1." /proc/[0-9]*/environ 2>/dev/null
    [ -z "$3" ] || grep -lE "^[0-9]+ [(].*[)] [^ZX] [0-9]+ [0-9]+ $3 " /proc/[0-9]*/stat 2>/dev/null
  )
  # This runs in a subshell that is itself of the session when the wrapper asks.
  read -r self _ </proc/self/stat
  for entry in $found; do
    number=\${entry#/proc/}
    number=\${number%/*}
    case $number in "$2"|"$self") continue ;; esac
    start_time "$number" && echo "$number"
  done
  return 0
}
# Ends them: TERM, after $4 tenths of a second KILL. Fails when one is left after two seconds more.
end_processes() {
  waited=0
  sign=TERM
  while numbers=$(unit_processes "$1" "$2" "$3"); [ -n "$numbers" ]; do
    [ "$waited" -lt "$4" ] || sign=KILL
    [ "$waited" -lt "$(($4 + 20))" ] || return 1
    [ "$waited" != 0 ] && [ "$sign" = TERM ] || kill -s "$sign" $numbers 2>/dev/null
    pause 0.1
    waited=$((waited + 1))
  done
}
`;
