import { and, desc, eq } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { auditEntries } from "../../shared/db/identity-tables.ts";
import { seenEntries } from "../../shared/db/narrowing.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import type { Principal } from "../../shared/domain/principal.ts";

/** Who changed what in the organization, newest first. */
export async function listAudit(db: Queryable, principal: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(auditEntries)
    .where(
      and(
        eq(auditEntries.organizationId, principal.organizationId),
        seenEntries(principal),
        behindCursor(auditEntries.id, page),
      ),
    )
    .orderBy(desc(auditEntries.id))
    .limit(page.limit + 1);
  return toPage(rows, page, (row) => ({
    id: row.id,
    action: row.action,
    resource: { kind: row.resourceKind, id: row.resourceId },
    fields: row.fields,
    userId: row.userId,
    credentialId: row.credentialId,
    sourceIp: row.sourceIp,
    createdAt: row.createdAt.toISOString(),
  }));
}
