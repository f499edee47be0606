/** Orders a clean-up of a project. A newer order replaces one that still waits, so that a drain always gets its time. */
import type { Queryable } from "../../shared/db/database.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { insertOperation } from "../../shared/operations/create.ts";

export const cleanUpKindName = "deployment_clean_up";

export async function orderCleanUp(
  tx: Queryable,
  project: { organizationId: string; projectId: string },
  runAfter: Date,
  progress: { attempt?: number } = {},
): Promise<void> {
  await insertOperation(tx, {
    id: newId("operation"),
    organizationId: project.organizationId,
    kind: cleanUpKindName,
    subjectId: cleanUpSubject(project.projectId),
    state: "queued",
    createdBy: null,
    runAfter,
    progress,
  });
}

/**
 * A subject of its own beside the project: a subject has one operation in flight, and a push must not wait until an old
 * container has taken its ten seconds to stop.
 */
function cleanUpSubject(projectId: string): string {
  return `clean-up:${projectId}`;
}

export function projectOfCleanUp(subjectId: string): string {
  return subjectId.slice("clean-up:".length);
}
