/** Everything that changes something writes who, from where, what and which fields; never values of secrets. */

import { newId } from "../domain/identifier.ts";
import type { Queryable } from "./database.ts";
import { auditEntries } from "./identity-tables.ts";

export interface AuditedChange {
  /** `project.updated`, `token.created`: noun and past verb. */
  action: string;
  resource: { kind: string; id: string };
  fields?: string[];
}

/** A principal, or whoever holds the database itself (the nulls). */
export interface AuditedActor {
  organizationId: string;
  userId: string | null;
  credentialId: string | null;
  sourceIp: string | null;
  requestId: string | null;
}

export async function writeAudit(db: Queryable, actor: AuditedActor, change: AuditedChange): Promise<void> {
  await db.insert(auditEntries).values({
    id: newId("audit"),
    organizationId: actor.organizationId,
    userId: actor.userId,
    credentialId: actor.credentialId,
    sourceIp: actor.sourceIp,
    requestId: actor.requestId,
    action: change.action,
    resourceKind: change.resource.kind,
    resourceId: change.resource.id,
    fields: change.fields ?? [],
  });
}
