/**
 * How the things of the lab are told apart from all else on the engine, and whose they are. Everything carries
 * `slipway-lab=1`; what belongs to a run also carries the run and its owner, so that only left-overs are cleaned away.
 */
import { existsSync, readFileSync } from "node:fs";

export const labLabel = "slipway-lab=1";
export const runKey = "slipway-lab.run";
export const ownerKey = "slipway-lab.owner";
/** Owner of a lab that outlives its process, until `lab down`. */
export const keptOwner = "kept";

export function runLabels(runId: string, owner: string): string[] {
  return [labLabel, `${runKey}=${runId}`, `${ownerKey}=${owner}`].flatMap((label) => ["--label", label]);
}

/** A pid alone is used again by the system; with the time of its start it is one process. */
export function ownerOfThisProcess(): string {
  return `${process.pid}:${startTimeOf(process.pid) ?? "?"}`;
}

export function ownerLives(owner: string): boolean {
  if (owner === keptOwner) return true;
  const [pid, startTime] = owner.split(":");
  return startTimeOf(Number(pid)) === startTime;
}

/** Field 22 of `/proc/<pid>/stat`; the command name before it may hold blanks. */
function startTimeOf(pid: number): string | undefined {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return undefined;
  const stat = readFileSync(path, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}
