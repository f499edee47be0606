/** Removals of projects as a kind of long work, for the runner. */
import { poolServerAway } from "../../../shared/db/hide-pool-server.ts";
import type { OperationError } from "../../../shared/domain/deployment.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { LeaseLost, type OperationKind } from "../../../shared/operations/definition.ts";
import type { Log } from "../../../shared/ports/log.ts";
import { ShellFailure, type ShellFailureReason } from "../../../shared/ports/shell.ts";
import { FencedOut } from "../../../shared/shell/fence.ts";
import { putBack, type RemovalParts, remove } from "./remove.ts";
import {
  finalRemovalStates,
  type RemovalEvent,
  type RemovalState,
  removalKindName,
  removalStates,
} from "./states.ts";

export function createRemovalKind(parts: RemovalParts): OperationKind<RemovalState, RemovalEvent> {
  return {
    kind: removalKindName,
    initial: "queued",
    states: removalStates,
    final: finalRemovalStates,
    mechanism: { failed: "fail", cancelled: "cancel", superseded: null },
    run: (context) => asOwner(() => remove(parts, context)),
    undo: (context) => asOwner(() => putBack(parts, context)),
    explain,
  };
}

const untouched =
  "The project is as it was. Delete it again, or forget it and leave it running with release=1.";
const perhapsTouched =
  "The project is still there, but parts of it may be gone from the server. Delete it again, deploy it, or forget it with release=1.";
const onPool = "The project is still there, but parts of it may be gone from the server. Delete it again.";

/** Of a server that was not reached, or that nothing was asked of. */
const neverRan: readonly ShellFailureReason[] = ["unreachable", "host_key_changed", "authentication", "sudo"];

function explain(error: unknown, log: Log): OperationError {
  if (error instanceof Refusal) {
    if (error.cause !== undefined) log.info({ err: error.cause, code: error.code }, "a removal failed");
    const hint = error.code === poolServerAway ? onPool : perhapsTouched;
    return { code: error.code, message: error.message, hint, logTail: [] };
  }
  if (error instanceof ShellFailure) {
    const hint = neverRan.includes(error.reason) ? untouched : perhapsTouched;
    return { code: error.reason, message: error.message, hint, logTail: [] };
  }
  throw error;
}

/** A newer owner on the server means that our lease is over, whatever the database says so far. */
async function asOwner(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (cause instanceof FencedOut) throw new LeaseLost({ cause });
    throw cause;
  }
}
