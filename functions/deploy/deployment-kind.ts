/** Deployments as a kind of long work, for the runner. */
import type { OperationKind } from "../../shared/operations/definition.ts";
import { announce } from "./announce.ts";
import { explain } from "./explain.ts";
import {
  type DeploymentEvent,
  type DeploymentState,
  deploymentStates,
  finalDeploymentStates,
} from "./states.ts";
import { noteEnd } from "./statuses/note.ts";
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
    explain,
    onEnd: async (tx, ended) => {
      await announce(tx, ended);
      await noteEnd(tx, ended);
    },
    undo: (context) => undo(parts, context),
  };
}
