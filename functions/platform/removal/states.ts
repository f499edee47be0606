/** How the removal of a project moves. One that fails leaves the project as it was, so that it can be asked for again. */
import type { StateTable } from "../../../shared/operations/definition.ts";

export type RemovalState = "queued" | "removing" | "done" | "failed" | "cancelled";
export type RemovalEvent = "start" | "finish" | "fail" | "cancel";

/** `kind` of the operation. */
export const removalKindName = "project_removal";

export const removalStates: StateTable<RemovalState, RemovalEvent> = {
  queued: { start: "removing", fail: "failed", cancel: "cancelled" },
  removing: { finish: "done", fail: "failed", cancel: "cancelled" },
  done: {},
  failed: {},
  cancelled: {},
};

export const finalRemovalStates: ReadonlySet<RemovalState> = new Set(["done", "failed", "cancelled"]);

/** A subject of its own beside the project's: the deployments of a project never wait for it, they are refused. */
export function removalSubject(projectId: string): string {
  return `removal:${projectId}`;
}

export function projectOfRemoval(subjectId: string): string {
  return subjectId.slice("removal:".length);
}
