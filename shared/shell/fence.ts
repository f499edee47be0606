/**
 * Fencing: an owner that lost its lease cannot act on a server any more (architecture section 4). Each resource has a file with the highest
 * token that acted on it; a step with an effect is one short static script that runs under the file's lock after a lower token was
 * refused, in one round trip. Rejected: checking the token in a command of its own (the owner can be stopped between check and act).
 */
import {
  type Shell,
  type ShellCommand,
  ShellFailure,
  type ShellResult,
  type ShellTarget,
} from "../ports/shell.ts";
import { fencesFolder, remoteName } from "./remote-paths.ts";
import { claimFenceScript, fenceExit, fenceMark, fencePrelude } from "./scripts/fence.ts";

/** A newer owner has acted on this resource, or nobody has claimed it: whoever gets this stops and touches nothing more. */
export class FencedOut extends Error {
  readonly resource: string;
  /** The token of the newer owner; null when the resource was never claimed on this server. */
  readonly holder: number | null;

  constructor(resource: string, holder: number | null) {
    super(
      holder === null
        ? `Nobody has claimed ${resource} on this server.`
        : `A newer owner (${holder}) has taken over ${resource}.`,
    );
    this.name = "FencedOut";
    this.resource = resource;
    this.holder = holder;
  }
}

export interface Fence {
  /** What is protected, such as the id of a project or a server; one path segment. */
  resource: string;
  /** The fencing token of the lease; only ever grows. */
  token: number;
}

export interface FencedStep extends Fence {
  /** A constant text for a POSIX shell. Values come as `$1`, `$2`, … or by stdin, never inside it. */
  script: string;
  args?: readonly string[];
  stdin?: ShellCommand["stdin"];
  deadlineMs: number;
  /** Until the step before has let go of the lock. Default 10 s, never more than the deadline. */
  lockWaitSeconds?: number;
  signal?: AbortSignal;
  maxOutputBytes?: number;
}

const defaultLockWaitSeconds = 10;

/** Writes our token unless a higher one is there. The same token again is fine. */
export async function claimFence(
  shell: Shell,
  target: ShellTarget,
  fence: Fence & { deadlineMs: number; signal?: AbortSignal },
): Promise<void> {
  const result = await shell.run(target, {
    argv: ["sh", "-c", claimFenceScript, "slipway-fence", ...fenceArguments(fence)],
    asRoot: true,
    deadlineMs: fence.deadlineMs,
    ...(fence.signal === undefined ? {} : { signal: fence.signal }),
  });
  refuseFenced(fence.resource, result);
  if (result.code !== 0) {
    throw new Error(
      `The fence of ${fence.resource} could not be written: ${result.stderr.trim().slice(0, 500)}`,
    );
  }
}

/**
 * Runs one step with an effect, as root. Answers whatever exit status the step has; throws `FencedOut` without having run it.
 * A step that leaves a process behind must start it with `9>&-`, or the lock stays held.
 */
export async function fencedStep(shell: Shell, target: ShellTarget, step: FencedStep): Promise<ShellResult> {
  const { stdin, signal, maxOutputBytes } = step;
  const result = await shell.run(target, {
    argv: [
      "sh",
      "-c",
      `${fencePrelude}${step.script}`,
      "slipway-step",
      ...fenceArguments(step),
      ...(step.args ?? []),
    ],
    asRoot: true,
    deadlineMs: step.deadlineMs,
    ...(stdin === undefined ? {} : { stdin }),
    ...(signal === undefined ? {} : { signal }),
    ...(maxOutputBytes === undefined ? {} : { maxOutputBytes }),
  });
  refuseFenced(step.resource, result);
  return result;
}

/** File, token and seconds to wait: the first arguments of every script that is fenced. */
export function fenceArguments(
  fence: Fence & { deadlineMs: number; lockWaitSeconds?: number },
): [string, string, string] {
  if (!Number.isSafeInteger(fence.token) || fence.token < 0) {
    throw new RangeError("A fencing token is a whole number.");
  }
  const waitSeconds = Math.min(
    fence.lockWaitSeconds ?? defaultLockWaitSeconds,
    Math.floor(fence.deadlineMs / 1_000),
  );
  return [
    `${fencesFolder}/${remoteName(fence.resource)}`,
    String(fence.token),
    String(Math.max(0, waitSeconds)),
  ];
}

/** Throws if a script answered that its fence is not ours; a script's own exit status 75 lacks the mark. */
export function refuseFenced(resource: string, result: ShellResult): void {
  const told = result.code === fenceExit ? (result.stderr.trimEnd().split("\n").at(-1) ?? "") : "";
  if (!told.startsWith(fenceMark)) {
    return;
  }
  const [reason, holder] = told.slice(fenceMark.length).trim().split(" ");
  if (reason === "busy") {
    throw new ShellFailure("deadline", `Another step is still acting on ${resource}.`);
  }
  throw new FencedOut(resource, holder === undefined ? null : Number(holder));
}
