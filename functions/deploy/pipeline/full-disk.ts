/**
 * Whether a step failed because the server's disk is full. Asked afterwards, with a question that writes nothing: on a
 * full disk neither a log nor an exit status can be kept, so what is left looks like a killed build or a bug of ours.
 * Rejected: looking before each step (a round trip for what nearly never is, and full a moment later).
 */
import { LeaseLost } from "../../../shared/operations/definition.ts";
import { ShellFailure } from "../../../shared/ports/shell.ts";
import { DeployFailure } from "../failure.ts";
import type { Hand } from "./hand.ts";

/** Says one of these where the server's own words did not reach us. Any other code is sure of its reason. */
const unsure: ReadonlySet<string> = new Set([
  "git_failed",
  "fetch_killed",
  "build_failed",
  "build_killed",
  "container_not_started",
]);

/** Free kilobytes where we and the engine write. */
const script = `for place in /var/lib/slipway /var/lib/docker; do
  df -Pk "$place" 2>/dev/null | awk 'NR==2 { print $4 }'
done`;
const leastKb = 1_024;
const deadlineMs = 10_000;

/** What the step threw, or `disk_full` in its place. */
export async function orFullDisk(hand: Hand, error: unknown, signal: AbortSignal): Promise<unknown> {
  const known = error instanceof DeployFailure ? !unsure.has(error.code) : !(error instanceof Error);
  if (known || signal.aborted || error instanceof LeaseLost || error instanceof ShellFailure) return error;
  const free = await hand.look({ script, args: [], deadlineMs }).catch(() => null);
  const isFull = (free?.stdout ?? "").split("\n").some((kb) => /^\d+$/.test(kb) && Number(kb) < leastKb);
  return isFull ? diskFull(error instanceof DeployFailure ? error.logTail : []) : error;
}

export function diskFull(tail: readonly string[]): DeployFailure {
  const hint = "Free space on the server's disk, then deploy again.";
  return new DeployFailure("disk_full", "The server's disk is full.", hint, tail);
}
