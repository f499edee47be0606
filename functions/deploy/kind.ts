/** The two kinds of long work of this module, for the runner. */
import type { OperationKind } from "../../shared/operations/definition.ts";
import { cleanUp } from "./clean-up.ts";
import { explainWith } from "./explain.ts";
import { cleanUpKindName } from "./order-clean-up.ts";
import {
  type CleanUpEvent,
  type CleanUpState,
  cleanUpStates,
  type DeploymentEvent,
  type DeploymentState,
  deploymentStates,
  finalCleanUpStates,
  finalDeploymentStates,
} from "./states.ts";
import { deploymentKindName } from "./store.ts";
import { tell } from "./story.ts";
import type { StoryParts } from "./story-parts.ts";
import { undo } from "./undo.ts";

export type DeploymentKind = OperationKind<DeploymentState, DeploymentEvent>;

export function createDeploymentKind(parts: StoryParts): DeploymentKind {
  return {
    kind: deploymentKindName,
    initial: "queued",
    states: deploymentStates,
    final: finalDeploymentStates,
    mechanism: { failed: "fail", cancelled: "cancel", superseded: "supersede" },
    run: (context) => tell(parts, context),
    explain: explainWith(parts.log),
    undo: (context) => undo(parts, context),
  };
}

export function createCleanUpKind(parts: StoryParts): OperationKind<CleanUpState, CleanUpEvent> {
  return {
    kind: cleanUpKindName,
    initial: "queued",
    states: cleanUpStates,
    final: finalCleanUpStates,
    mechanism: { failed: "fail", cancelled: "cancel", superseded: "cancel" },
    run: (context) => cleanUp(parts, context),
    explain: explainWith(parts.log),
    // It only ever takes away; what is left is found by the next one.
    undo: async () => undefined,
  };
}
