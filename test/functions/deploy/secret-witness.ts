/** Whether a secret is seen on a server: in the process table while something runs, and in files afterwards. */
import { randomBytes } from "node:crypto";
import type { LabServer } from "../../lab/server.ts";

/** Looks at every process until `$1` exists; the pattern comes on standard input, so that it never finds itself. */
const watchScript = `
found() { while IFS= read -r line; do case $line in *"$token"*) return 0 ;; esac; done; return 1; }
IFS= read -r token
busy=0 seen=0
until [ -e "$1" ]; do
  for process in /proc/[0-9]*; do
    case $(tr '\\0' ' ' <"$process/cmdline" 2>/dev/null) in *"$2"*) busy=$((busy + 1)) ;; esac
    if { tr '\\0' '\\n' <"$process/cmdline"; tr '\\0' '\\n' <"$process/environ"; } 2>/dev/null | found; then seen=$((seen + 1)); fi
  done
done
rm -f "$1"
echo "$busy $seen"
`;

const searchScript = `
cat >/dev/shm/pattern
grep -rlF -f /dev/shm/pattern /var/lib/slipway /tmp /var/tmp /run /root /etc /var/log /home 2>/dev/null
status=$?
rm -f /dev/shm/pattern
[ "$status" -ne 0 ] || exit 0
`;

/** `working`: what stands in the command line of the work that is looked at. */
export function watchFor(server: LabServer, secret: string, working: string) {
  const stop = `/dev/shm/stop-${randomBytes(4).toString("hex")}`;
  const watching = server.exec(["sh", "-c", watchScript, "watch", stop, working], {
    input: `${secret}\n`,
    deadlineMs: 150_000,
  });
  return {
    end: async () => {
      await server.exec(["touch", stop]);
      const [busy = 0, seen = -1] = (await watching).stdout.trim().split(" ").map(Number);
      return { busy, seen };
    },
  };
}

/** Paths of files that hold it. */
export async function filesWith(server: LabServer, secret: string): Promise<string> {
  return (await server.exec(["sh", "-c", searchScript], { input: `${secret}\n` })).stdout.trim();
}
