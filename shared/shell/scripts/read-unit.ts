/**
 * Long-polls one unit: waits until its log has grown beyond an offset or it is over, then prints one header line and the bytes.
 * Header: \`<started 0|1> <exit or -> <alive 0|1> <boot changed 0|1> <log size> <bytes that follow>\`. The order of the questions matters:
 * alive, then exit, then size, so that "not alive and no exit" and "this is the whole log" are never said too early. Static text;
 * $1 the unit's path without suffix, $2 offset, $3 milliseconds to wait, $4 most bytes to print.
 */
import { processIdentity } from "./process-identity.ts";

const unitState = `${processIdentity}
# Sets alive, code ("-" without one) and rebooted for the unit at $1.
unit_state() {
  alive=0
  rebooted=0
  code=-
  [ -n "$boot" ] || boot_identity
  if { read -r unit_number unit_started unit_boot <"$1.pid"; } 2>/dev/null; then
    if [ "$unit_boot" != "$boot" ]; then
      rebooted=1
    elif start_time "$unit_number" && [ "$started" = "$unit_started" ]; then
      alive=1
    fi
  elif { read -r unit_boot <"$1.started"; } 2>/dev/null && [ "$unit_boot" != "$boot" ]; then
    rebooted=1
  elif [ "$(($(date +%s) - $(date -r "$1.started" +%s)))" -lt 10 ]; then
    alive=1
  fi
  { read -r code <"$1.exit"; } 2>/dev/null || code=-
  # It ended with its server, whose next boot may not have come yet.
  [ "$code" != down ] || { code=- alive=0 rebooted=1; }
}
`;

export const readUnitScript = `${unitState}
boot=
[ -e "$1.started" ] || { echo "0 - 0 0 0 0"; exit 0; }
waited=0
grown=0
while :; do
  unit_state "$1"
  size=$(stat -c %s "$1.log" 2>/dev/null) || size=0
  [ "$code" = - ] && [ "$alive" = 1 ] && [ "$waited" -lt "$3" ] || break
  more=$((size - $2))
  # A little more is waited for a little output: one answer with many lines instead of many answers with one.
  [ "$more" -lt 65536 ] && [ "$grown" -lt 2 ] || break
  [ "$more" -le 0 ] || grown=$((grown + 1))
  # The end is seen at once, and looked for without a process but the pause: the work itself needs the machine.
  [ "$grown" = 0 ] && until=$((waited + 50)) || until=$((waited + 20))
  while [ "$waited" -lt "$until" ] && [ ! -e "$1.exit" ]; do
    pause 0.01
    waited=$((waited + 10))
  done
done
count=$((size - $2))
[ "$count" -ge 0 ] || count=0
[ "$count" -le "$4" ] || count=$4
echo "1 $code $alive $rebooted $size $count"
[ "$count" = 0 ] || tail -c "+$(($2 + 1))" "$1.log" | head -c "$count"
`;

/** One line a unit: \`<operation> <step> <exit or -> <alive 0|1>\`. $1 operations folder. */
export const listUnitsScript = `${unitState}
boot=
for marker in "$1"/*/*.started; do
  [ -e "$marker" ] || continue
  path=\${marker%.started}
  unit_state "$path"
  directory=\${path%/*}
  echo "\${directory##*/} \${path##*/} $code $alive"
done
`;
