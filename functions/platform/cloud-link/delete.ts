/** Forgets the link and its token; again is no error. What was promoted stays in the cloud. */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { cloudLinks } from "../../../shared/db/connection-tables.ts";
import type { Database } from "../../../shared/db/database.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { requireMayLink } from "./show.ts";

export async function deleteCloudLink(db: Database, principal: Principal): Promise<void> {
  requireMayLink(principal);
  const { organizationId } = principal;
  await db.transaction(async (tx) => {
    const gone = await tx
      .delete(cloudLinks)
      .where(eq(cloudLinks.organizationId, organizationId))
      .returning({ url: cloudLinks.url });
    if (gone.length === 0) return;
    const resource = { kind: "cloud_link", id: organizationId };
    await writeAudit(tx, principal, { action: "cloud_link.deleted", resource });
  });
}
