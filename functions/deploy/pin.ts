/** Keeps a deployment's image whatever the rollback window says, or releases it. Works in any state. */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { type DeploymentView, viewOf } from "./store.ts";

export async function pin(
  db: Database,
  principal: Principal,
  id: string,
  pinned: boolean,
): Promise<DeploymentView> {
  const deployment = await load(db, principal, "deployment", id);
  return db.transaction(async (tx) => {
    if (deployment.pinned !== pinned) {
      await tx.update(deployments).set({ pinned }).where(eq(deployments.id, id));
      await writeAudit(tx, principal, {
        action: pinned ? "deployment.pinned" : "deployment.unpinned",
        resource: { kind: "deployment", id },
        fields: ["pinned"],
      });
    }
    return viewOf(tx, id);
  });
}
