/** Memory as Linux counts it: proportional shares, so that pages which processes share are counted once. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Of the platform and its embedded database with all of its backends. */
export function proportionalMB(
  platformPid: number,
  dataFolder: string,
): { platform: number; database: number } {
  const postmaster = Number(
    readFileSync(join(dataFolder, "postgres", "data", "postmaster.pid"), "utf8").split("\n")[0],
  );
  const pids = [postmaster, ...childrenOf(postmaster)];
  return { platform: shareMB(platformPid), database: pids.reduce((sum, pid) => sum + shareMB(pid), 0) };
}

export function residentMB(pid: number): number {
  return kilobytes(readFileSync(`/proc/${pid}/status`, "utf8"), "VmRSS") / 1024;
}

function shareMB(pid: number): number {
  return kilobytes(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"), "Pss") / 1024;
}

function kilobytes(text: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1];
  if (found === undefined) throw new Error(`The kernel does not say ${field}.`);
  return Number(found);
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);
}

/** undefined: it has ended meanwhile. */
function parentOf(pid: number): number | undefined {
  try {
    const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    return Number(rest.split(" ")[1]);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}
