/**
 * Detached work on a server: a "unit" is one step of an operation that lives on when the connection or the controller dies. It has a log,
 * an exit file and a record of its process in `/var/lib/slipway/operations/<operation>/`; whoever owns the operation next attaches by
 * name. Units only produce (pull, build, dump, unpack) and never switch: what has an effect is a fenced step (fence.ts).
 * Rejected: `nohup` (no way to end all of it) and keeping the channel open (a dropped connection would end a build).
 */
import type { Shell, ShellTarget } from "../ports/shell.ts";
import { type Fence, fenceArguments, refuseFenced } from "./fence.ts";
import { environmentName, quote } from "./quote.ts";
import { operationsFolder, remoteName } from "./remote-paths.ts";
import { listUnitsScript } from "./scripts/read-unit.ts";
import { startUnitScript } from "./scripts/start-unit.ts";
import { stopUnitScript } from "./scripts/stop-unit.ts";
import { unitWrapper } from "./scripts/unit-wrapper.ts";

export { timedOutExit } from "./scripts/unit-wrapper.ts";

/** One step of one operation; both are one path segment. */
export interface UnitName {
  operationId: string;
  step: string;
}

export interface UnitStart extends UnitName {
  argv: readonly [string, ...string[]];
  /** Secrets included: it travels by stdin into a 0600 file that the unit deletes as it starts, never in an argument list. */
  env?: Readonly<Record<string, string>>;
  /** The command's input, through a 0600 file that is deleted as it starts. Large inputs: `upload` a file and name it. */
  stdin?: string | Uint8Array;
  /** Working folder on the server; must exist. Default `/`. */
  directory?: string;
  /** Refuses to start for an owner that has been replaced. */
  fence?: Fence;
  /** How long the command may run; then it gets TERM, 5 s later KILL, and the exit is `timedOutExit`. */
  timeoutSeconds: number;
  /** For the start itself. */
  deadlineMs: number;
  signal?: AbortSignal;
}

interface Call {
  deadlineMs: number;
  signal?: AbortSignal;
}

/** Starts the unit unless this step was ever started: a repeated start after a lost answer is safe. */
export async function startUnit(
  shell: Shell,
  target: ShellTarget,
  unit: UnitStart,
): Promise<"started" | "already"> {
  const job = Buffer.from(jobText(unit));
  const input = unit.stdin === undefined ? undefined : Buffer.from(unit.stdin);
  const result = await script(shell, target, unit, startUnitScript, {
    args: [
      operationsFolder,
      remoteName(unit.operationId),
      remoteName(unit.step),
      String(unit.timeoutSeconds),
      String(job.length),
      input === undefined ? "-" : String(input.length),
      ...(unit.fence === undefined
        ? ["-", "-", "-"]
        : fenceArguments({ ...unit.fence, deadlineMs: unit.deadlineMs })),
    ],
    stdin: Buffer.concat([job, input ?? Buffer.alloc(0)]),
  });
  return result.trim() === "already" ? "already" : "started";
}

/** Ends the unit and everything it started: TERM, after 3 to 5 s KILL. `gone` is proven by looking for its processes. */
export async function stopUnit(
  shell: Shell,
  target: ShellTarget,
  unit: UnitName & Call,
): Promise<{ gone: boolean }> {
  const answer = await script(shell, target, unit, stopUnitScript, {
    args: [unitPath(unit), unitLabel(unit)],
  });
  return { gone: answer.trim() === "gone" };
}

/** Removes logs and records of a settled operation. Its units must be over. */
export async function removeUnitFiles(
  shell: Shell,
  target: ShellTarget,
  operation: { operationId: string } & Call,
): Promise<void> {
  const folder = `${operationsFolder}/${remoteName(operation.operationId)}`;
  await script(shell, target, operation, 'rm -rf -- "$1"', { args: [folder] });
}

export interface UnitListing extends UnitName {
  exit: number | null;
  alive: boolean;
}

/** Every unit that has files on the server, to find what an operation left behind. */
export async function listUnits(shell: Shell, target: ShellTarget, call: Call): Promise<UnitListing[]> {
  const answer = await script(shell, target, call, listUnitsScript, { args: [operationsFolder] });
  return answer
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [operationId = "", step = "", exit = "-", alive = "0"] = line.split(" ");
      return { operationId, step, exit: exit === "-" ? null : Number(exit), alive: alive === "1" };
    });
}

/** The unit's files without their suffix. */
export function unitPath(unit: UnitName): string {
  return `${operationsFolder}/${remoteName(unit.operationId)}/${remoteName(unit.step)}`;
}

/** Name of the unit for systemd and in the marker of its processes. */
function unitLabel(unit: UnitName): string {
  return `slipway-${remoteName(unit.operationId)}-${remoteName(unit.step)}`;
}

/** What the server runs: the command and its environment as quoted words, then the static wrapper. */
function jobText(unit: UnitStart): string {
  if (!Number.isSafeInteger(unit.timeoutSeconds) || unit.timeoutSeconds < 1) {
    throw new RangeError("A unit needs a time limit in whole seconds.");
  }
  const variables = Object.entries({ ...unit.env, SLIPWAY_UNIT: `${unitLabel(unit)}.` });
  return [
    `unit=${quote(unitLabel(unit))}`,
    `limit=${unit.timeoutSeconds}`,
    `directory=${quote(unit.directory ?? "/")}`,
    "slipway_command() {",
    ...variables.map(([name, value]) => `export ${environmentName(name)}=${quote(value)}`),
    `exec "$@" ${unit.argv.map(quote).join(" ")}`,
    "}",
    unitWrapper,
  ].join("\n");
}

async function script(
  shell: Shell,
  target: ShellTarget,
  call: Call & { fence?: Fence },
  text: string,
  input: { args: string[]; stdin?: Uint8Array },
): Promise<string> {
  const result = await shell.run(target, {
    argv: ["sh", "-c", text, "slipway-unit", ...input.args],
    asRoot: true,
    deadlineMs: call.deadlineMs,
    ...(input.stdin === undefined ? {} : { stdin: input.stdin }),
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  });
  if (call.fence !== undefined) {
    refuseFenced(call.fence.resource, result);
  }
  if (result.code !== 0) {
    throw new Error(
      `A unit's script failed on the server (exit ${result.code}): ${result.stderr.trim().slice(0, 500)}`,
    );
  }
  return result.stdout;
}
