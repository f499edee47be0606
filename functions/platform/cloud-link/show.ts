/** The link of the caller's organization, and what of it is seen. Columns are named: the sealed token never leaves. */
import { eq } from "drizzle-orm";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { requireOwner } from "../grant-role.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";

export type CloudLinkRow = typeof cloudLinks.$inferSelect;

export async function readCloudLink(db: Queryable, principal: Principal) {
  requireMayLink(principal);
  const row = await linkOf(db, principal.organizationId);
  return row === undefined ? null : showCloudLink(row);
}

/** Owners alone: its token acts in the cloud for everybody here. */
export function requireMayLink(principal: Principal): void {
  requireOwner(principal);
  refuseNarrowed(principal, "see or change the link to the cloud");
}

export async function linkOf(db: Queryable, organizationId: string): Promise<CloudLinkRow | undefined> {
  const [row] = await db.select().from(cloudLinks).where(eq(cloudLinks.organizationId, organizationId));
  return row;
}

export function showCloudLink(row: CloudLinkRow) {
  return {
    url: row.url,
    token: { set: true as const, last4: row.last4 },
    organization: { id: row.cloudOrganizationId, name: row.cloudOrganizationName },
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
