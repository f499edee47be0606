/**
 * A story's hand on its server: fenced steps, looks and units, each tried again while the server is out of reach, for
 * a minute in a row. Every step behind it can be repeated: a lost answer is asked for again, not guessed. An owner that
 * the server refuses for a newer one stops as if its lease were lost.
 */

import { limits } from "../../../shared/domain/limits.ts";
import { LeaseLost } from "../../../shared/operations/definition.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import {
  type Shell,
  ShellFailure,
  type ShellFailureReason,
  type ShellResult,
  type ShellTarget,
} from "../../../shared/ports/shell.ts";
import { startUnit, stopUnit } from "../../../shared/shell/detached.ts";
import { claimFence, FencedOut, fencedStep } from "../../../shared/shell/fence.ts";
import { followUnit, type UnitChunk, type UnitEnd } from "../../../shared/shell/follow-unit.ts";
import { DeployFailure } from "../failure.ts";

export interface HandOptions {
  shell: Shell;
  target: ShellTarget;
  clock: Clock;
  /** Path segment on the server that names what is protected, and this owner's token. */
  fence: { resource: string; token: number };
  operationId: string;
  signal: AbortSignal;
  /** How long the server may be out of reach, in a row. */
  lostForMs?: number;
}

export interface ScriptCall {
  script: string;
  args: readonly string[];
  stdin?: string;
  deadlineMs: number;
  /** Whether bash is needed; sh otherwise. Looks only. */
  bash?: boolean;
}

export interface UnitCall {
  step: string;
  script: string;
  args: readonly string[];
  stdin?: string;
  timeoutMs: number;
}

export interface UploadCall {
  path: string;
  bytes: number;
  chunks: () => AsyncIterable<Uint8Array>;
  mode: number;
  deadlineMs: number;
}

export interface Hand {
  /** Writes this owner's token: from here on every older owner is refused. */
  claim(): Promise<void>;
  /** A step with an effect. */
  step(call: ScriptCall): Promise<ShellResult>;
  /** A question without an effect. */
  look(call: ScriptCall): Promise<ShellResult>;
  /** Writes a file, whole or not at all; `chunks` is asked for again with each try. */
  upload(file: UploadCall): Promise<void>;
  /** Starts a detached step unless it was started before. */
  start(unit: UnitCall): Promise<void>;
  follow(step: string, offset: number): AsyncGenerator<UnitChunk, UnitEnd, undefined>;
  /** Ends a detached step and proves it gone. */
  stop(step: string): Promise<void>;
  /** Anything else that asks the server and may be asked again. */
  persist<T>(work: () => Promise<T>): Promise<T>;
}

export function createHand(options: HandOptions): Hand {
  const { shell, target, clock, operationId, signal } = options;
  const lostForMs = options.lostForMs ?? limits.serverLostMs;
  const fence = options.fence;
  const persist = <T>(work: () => Promise<T>) => persistently(work, { clock, signal, lostForMs });
  return {
    persist,
    claim: () => persist(() => claimFence(shell, target, { ...fence, deadlineMs: shortMs, signal })),
    step: ({ script, args, stdin, deadlineMs }) =>
      persist(() => {
        const input = stdin === undefined ? {} : { stdin };
        return fencedStep(shell, target, { ...fence, ...input, script, args, deadlineMs, signal });
      }),
    look: ({ script, args, stdin, deadlineMs, bash = false }) =>
      persist(() => {
        const input = stdin === undefined ? {} : { stdin };
        const argv = [bash ? "bash" : "sh", "-c", script, "slipway-look", ...args] as const;
        return shell.run(target, { argv: [...argv], asRoot: true, deadlineMs, signal, ...input });
      }),
    upload: ({ bytes, chunks, ...file }) =>
      persist(() => {
        const content = { bytes, chunks: chunks() };
        return shell.upload(target, { ...file, content, asRoot: true, signal });
      }),
    start: async ({ step, script, args, stdin, timeoutMs }) => {
      await persist(() =>
        startUnit(shell, target, {
          operationId,
          step,
          argv: ["sh", "-c", script, `slipway-${step}`, ...args],
          ...(stdin === undefined ? {} : { stdin }),
          fence,
          timeoutSeconds: Math.ceil(timeoutMs / 1_000),
          deadlineMs: shortMs,
          signal,
        }),
      );
    },
    follow: (step, offset) => follow(options, step, offset, lostForMs),
    stop: async (step) => {
      const { gone } = await persist(() =>
        stopUnit(shell, target, { operationId, step, deadlineMs: shortMs, signal }),
      );
      if (!gone) throw new Error(`processes of ${step} are left on the server`);
    },
  };
}

/** Steps that only start, stop or write something small. */
const shortMs = 30_000;

async function* follow(
  { shell, target, clock, operationId, signal }: HandOptions,
  step: string,
  offset: number,
  lostForMs: number,
): AsyncGenerator<UnitChunk, UnitEnd, undefined> {
  try {
    return yield* followUnit(shell, target, { operationId, step, offset, clock, lostForMs, signal });
  } catch (error) {
    throw asLost(error, signal);
  }
}

interface Persistence {
  clock: Clock;
  signal: AbortSignal;
  lostForMs: number;
}

async function persistently<T>(
  work: () => Promise<T>,
  { clock, signal, lostForMs }: Persistence,
): Promise<T> {
  let lostSinceMs: number | undefined;
  for (let pauseMs = 100; ; pauseMs = Math.min(2_000, pauseMs * 2)) {
    signal.throwIfAborted();
    const beganMs = clock.nowMs();
    try {
      return await work();
    } catch (error) {
      lostSinceMs ??= beganMs;
      const over = clock.nowMs() - lostSinceMs >= lostForMs;
      if (!isPassing(error) || over) throw asLost(error, signal);
      await clock.sleep(pauseMs, signal);
    }
  }
}

const passing: readonly ShellFailureReason[] = ["unreachable", "connection_lost", "deadline"];

function isPassing(error: unknown): boolean {
  return error instanceof ShellFailure && passing.includes(error.reason);
}

/** What a failure to ask means for the story. */
function asLost(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof FencedOut) return new LeaseLost({ cause: error });
  return isPassing(error) ? serverUnreachable(error) : error;
}

export const serverUnreachableCode = "server_unreachable";

function serverUnreachable(cause: unknown): DeployFailure {
  const failure = new DeployFailure(
    serverUnreachableCode,
    "The server could not be reached for a minute.",
    "Check that it runs and that its SSH port can be reached, then deploy again.",
  );
  failure.cause = cause;
  return failure;
}
