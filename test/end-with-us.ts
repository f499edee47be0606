/**
 * A database that tests have started ends with them, also when they are killed with -9: a shell waits for the end of a
 * pipe that only this process holds. For tests alone: the product's database outlives a killed platform on purpose.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";

/** `$1` home, `$2` cluster. The recorded pid may be another process's by then; the database works inside its cluster. */
const script = `cat >/dev/null
trap '' INT TERM HUP
runs() { [ "$(readlink "/proc/$pid/cwd")" = "$2" ]; }
read -r pid 2>/dev/null <"$2/postmaster.pid" || exit 0
runs "$@" || exit 0
kill -s INT "$pid"
waited=0
while runs "$@" && [ "$waited" -lt 100 ]; do sleep 0.1; waited=$((waited + 1)); done
rm -rf -- "$1"`;

/** Ends the database of the data folder `home`/data, and removes `home`, as soon as this process is gone. */
export function endWithUs(home: string): { done(): void } {
  const argv = ["-c", script, "end-with-us", home, join(home, "data/postgres/data")];
  const watcher = spawn("sh", argv, { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  watcher.unref();
  watcher.stdin.on("error", () => watcher.stdin.destroy());
  return { done: () => watcher.stdin.end() };
}
