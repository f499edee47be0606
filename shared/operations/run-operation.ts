/**
 * One operation from its claim to its end: the story, and where it throws or a cancel was asked for, the undoing and
 * the last word. How it is going to end is noted before the undoing begins, so that the next owner goes on there. A
 * lost lease ends it without a word: another owner may be at work already.
 */
import type { Database } from "../db/database.ts";
import type { OperationError } from "../domain/deployment.ts";
import { limits } from "../domain/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { cancelledByPerson } from "./cancel.ts";
import { type HeldOperation, holdOperation } from "./context.ts";
import { isDatabaseAway } from "./database-away.ts";
import { type AnyOperationKind, CancelRequested, LeaseLost } from "./definition.ts";
import { keepLease } from "./keep-lease.ts";
import { type Claimed, release } from "./lease.ts";
import type { LeaseTimes } from "./lease-times.ts";
import type { Ending } from "./mechanism.ts";
import { allows, knows, standIn } from "./state-table.ts";

export interface RunOptions {
  db: Database;
  clock: Clock;
  log: Log;
  kind: AnyOperationKind;
  claimed: Claimed;
  times: LeaseTimes;
  /** When the claim was sent, by `clock`. */
  sentAtMs: number;
  observer?: OperationObserver | undefined;
}

/** Hears of every operation that ends here, and of every lease that is lost on the way. */
export interface OperationObserver {
  ended(kind: string, state: string): void;
  leaseLost(kind: string): void;
}

export interface RunningOperation {
  id: string;
  /** Resolves when nothing of it runs here any more; never rejects. */
  ended: Promise<void>;
  /** A cancel was asked for. */
  cancel(): void;
  /** The process ends: the story is told to stop and the lease is given back. */
  handOver(): void;
}

export function runOperation(options: RunOptions): RunningOperation {
  const { db, clock, claimed, kind } = options;
  const log = options.log.child({ operationId: claimed.id, kind: kind.kind, leaseToken: claimed.leaseToken });
  /** Aborts when the lease is over. */
  const life = new AbortController();
  const cancelled = new AbortController();
  let planned = false;
  const onLost = (reason: LeaseLost) => {
    if (!life.signal.aborted) {
      log.warn({ cause: reason.cause }, "a lease was lost; its next owner goes on");
      options.observer?.leaseLost(kind.kind);
    }
    life.abort(reason);
  };
  const onCancel = () => {
    if (!held.isIrrevocable()) {
      cancelled.abort(new CancelRequested());
    }
  };
  const held: HeldOperation = holdOperation({ db, kind, claimed, check: () => check(), onLost, onCancel });
  const { id, leaseToken } = claimed;
  const { times, sentAtMs } = options;
  const keeper = keepLease({ db, clock, log, id, leaseToken, times, sentAtMs, onLost, onCancel });
  const check = () => {
    life.signal.throwIfAborted();
    keeper.check();
  };
  const work = async () => {
    try {
      log.info({ attempt: claimed.attempt, subjectId: claimed.subjectId }, "an operation is at work");
      await conclude({ ...options, log, held, life: life.signal, cancelled: cancelled.signal });
      const { state } = held.context(life.signal);
      log.info({ state }, "an operation has ended");
      options.observer?.ended(kind.kind, state);
    } catch (error) {
      if (life.signal.aborted || isDatabaseAway(error, "anywhere")) {
        await giveBack(options, log, planned);
      } else {
        // Not given back: the lease runs out first, so that a bug is no hot loop.
        log.error({ error }, "an operation could not be brought to its end");
      }
    } finally {
      keeper.stop();
    }
  };
  if (claimed.cancelRequested) {
    onCancel();
  }
  return {
    id,
    ended: work(),
    cancel: onCancel,
    handOver: () => {
      planned = true;
      life.abort(new LeaseLost());
    },
  };
}

interface Conclude extends RunOptions {
  held: HeldOperation;
  life: AbortSignal;
  cancelled: AbortSignal;
}

async function conclude(run: Conclude): Promise<void> {
  const { claimed, held, kind } = run;
  const stalled = claimed.mechanism.stalled ?? 1;
  const ending = claimed.mechanism.ending ?? lostCause(run, stalled) ?? (await tellStory(run));
  if (ending === null) {
    return;
  }
  if (claimed.mechanism.ending === undefined) {
    await held.noteEnding(ending);
  }
  const left = stalled > 2 * limits.stalledAttempts ? "every owner was lost on the way" : await undo(run);
  const { event, error } = lastWord(kind, held.context(run.life).state, ending, left);
  await held.end(event, { error });
}

/** How it ends where no story can help any more. */
function lostCause({ kind, claimed }: Conclude, stalled: number): Ending | null {
  if (!knows(kind, claimed.state)) return outdated;
  return stalled > limits.stalledAttempts ? abandoned : null;
}

const outdated: Ending = {
  how: "failed",
  error: {
    code: "outdated",
    message: "An older version of the platform left this in a state that this version does not know.",
    hint: "Start it again.",
    logTail: [],
  },
};

const abandoned: Ending = {
  how: "failed",
  error: {
    code: "abandoned",
    message: `Given up after ${limits.stalledAttempts} attempts that got nowhere.`,
    hint: "Look into the log of the platform for the reason, then start it again.",
    logTail: [],
  },
};

const internalError: OperationError = {
  code: "internal",
  message: "Internal error.",
  hint: null,
  logTail: [],
};

/** How it is to end, or null where the story has brought it to an end itself. */
async function tellStory({ kind, held, life, cancelled, log }: Conclude): Promise<Ending | null> {
  const asCancelled: Ending = { how: "cancelled", error: cancelledByPerson };
  if (cancelled.aborted) {
    return asCancelled;
  }
  try {
    await kind.run(held.context(AbortSignal.any([life, cancelled])));
  } catch (error) {
    if (life.aborted || error instanceof LeaseLost || isDatabaseAway(error, "anywhere")) {
      throw error;
    }
    if (held.isFinal()) {
      log.error({ error }, "a story threw after its last move");
      return null;
    }
    if (error instanceof CancelRequested || (cancelled.aborted && !held.isIrrevocable())) {
      return asCancelled;
    }
    return { how: "failed", error: explained(kind, error, log) };
  }
  if (held.isFinal()) {
    return null;
  }
  life.throwIfAborted();
  if (cancelled.aborted && !held.isIrrevocable()) {
    return asCancelled;
  }
  log.error({ state: held.context(life).state }, "a story ended without a final state");
  return { how: "failed", error: internalError };
}

/** Answers what is left behind, or null where all is gone. */
async function undo({ kind, held, life, clock, log }: Conclude): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      await kind.undo(held.context(life));
      return null;
    } catch (error) {
      if (life.aborted || error instanceof LeaseLost || isDatabaseAway(error, "anywhere")) {
        throw error;
      }
      log.warn({ error, attempt }, "undoing an operation failed");
      if (attempt >= limits.undoAttempts) {
        return explained(kind, error, log).message;
      }
    }
    await clock.sleep(Math.min(1_000 * 2 ** (attempt - 1), limits.undoBackoffMostMs), life);
  }
}

function lastWord(kind: AnyOperationKind, state: string, { how, error }: Ending, left: string | null) {
  const event = kind.mechanism[how];
  if (left === null && allows(kind.states, standIn(kind, state, event), event)) {
    return { event, error };
  }
  const hint =
    left === null
      ? error.hint
      : `Ending its work on the server failed, so something may be left there: ${left}`;
  const code = how === "cancelled" ? "cancel_incomplete" : error.code;
  return { event: kind.mechanism.failed, error: { ...error, code, hint } };
}

function explained(kind: AnyOperationKind, error: unknown, log: Log): OperationError {
  try {
    return kind.explain(error, log);
  } catch (bug) {
    log.error({ error: bug, explaining: error }, "a kind could not explain what its story threw");
    return internalError;
  }
}

/** Tries as long as the lease may last; afterwards it has ended by itself. */
async function giveBack(
  { db, clock, claimed, times }: RunOptions,
  log: Log,
  planned: boolean,
): Promise<void> {
  for (let waitMs = 100; waitMs < times.leaseMs; waitMs *= 2) {
    try {
      return await release(db, claimed.id, claimed.leaseToken, planned);
    } catch (error) {
      log.warn({ error }, "a lease could not be given back yet");
      await clock.sleep(waitMs);
    }
  }
}
