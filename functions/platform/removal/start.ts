/**
 * Marks a project and orders its removal in one transaction; from then on it is neither served nor deployed. Asked for
 * again while one is under way, it is the same one.
 */
import { and, eq, sql } from "drizzle-orm";
import type { AuditedActor } from "../../../shared/db/audit.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { insertOperation } from "../../../shared/operations/create.ts";
import { beingDeleted } from "./release.ts";
import { removalKindName, removalSubject } from "./states.ts";
import { lockIdle } from "./wipe.ts";

/** What the story must know, in the operation's progress. */
export interface RemovalOrder {
  volumes: boolean;
  /** Who asked, for the audit. */
  by: AuditedActor;
}

/** Answers the id of the operation. */
export async function startRemoval(tx: Transaction, projectId: string, order: RemovalOrder): Promise<string> {
  const project = await lockIdle(tx, projectId);
  const subjectId = removalSubject(projectId);
  if (project.deletingAt !== null) {
    const [open] = await tx
      .select({ id: operations.id, progress: operations.progress })
      .from(operations)
      .where(and(eq(operations.subjectId, subjectId), eq(operations.final, false)));
    if (open === undefined || open.progress["volumes"] !== order.volumes) throw beingDeleted();
    return open.id;
  }
  const { organizationId, userId, credentialId, sourceIp, requestId } = order.by;
  const by = { organizationId, userId, credentialId, sourceIp, requestId };
  const id = newId("operation");
  await tx.update(projects).set({ deletingAt: sql`now()` }).where(eq(projects.id, projectId));
  await insertOperation(tx, {
    id,
    organizationId,
    kind: removalKindName,
    subjectId,
    state: "queued",
    createdBy: userId,
    progress: { volumes: order.volumes, by },
  });
  return id;
}
