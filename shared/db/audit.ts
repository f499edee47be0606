/** Everything that changes something writes who, from where, what and which fields; never values of secrets. */
import { newId } from "../domain/identifier.ts";
import type { Principal } from "../domain/principal.ts";
import type { Queryable } from "./database.ts";
import { auditEntries } from "./schema.ts";

export interface AuditedChange {
  /** `project.updated`, `token.created`: noun and past verb. */
  action: string;
  resource: { kind: string; id: string };
  fields?: string[];
}

export async function writeAudit(db: Queryable, principal: Principal, change: AuditedChange): Promise<void> {
  await db.insert(auditEntries).values({
    id: newId("audit"),
    organizationId: principal.organizationId,
    userId: principal.userId,
    credentialId: principal.credentialId,
    sourceIp: principal.sourceIp,
    requestId: principal.requestId,
    action: change.action,
    resourceKind: change.resource.kind,
    resourceId: change.resource.id,
    fields: change.fields ?? [],
  });
}
