/** Clean-ups of projects as a kind of long work, for the runner. */
import type { OperationKind } from "../../shared/operations/definition.ts";
import { type CleanUpParts, cleanUp } from "./clean-up.ts";
import { explain } from "./explain.ts";
import { cleanUpKindName } from "./order-clean-up.ts";
import { type CleanUpEvent, type CleanUpState, cleanUpStates, finalCleanUpStates } from "./states.ts";

export function createCleanUpKind(parts: CleanUpParts): OperationKind<CleanUpState, CleanUpEvent> {
  return {
    kind: cleanUpKindName,
    initial: "queued",
    states: cleanUpStates,
    final: finalCleanUpStates,
    mechanism: { failed: "fail", cancelled: "cancel", superseded: "cancel" },
    run: (context) => cleanUp(parts, context),
    explain,
    // It only ever takes away; what is left is found by the next one.
    undo: async () => undefined,
  };
}
