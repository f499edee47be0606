/** Forgets a registry: its secret is wiped from the row. What runs goes on running; images are never pulled again for it. */
import { and, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { registries } from "../../../shared/db/connection-tables.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { notFound } from "../../../shared/domain/refusal.ts";
import type { PlatformParts } from "../parts.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";

export async function deleteRegistry(parts: PlatformParts, principal: Principal, id: string): Promise<void> {
  await parts.db.transaction(async (tx) => {
    await load(tx, principal, "registry", id);
    refuseNarrowed(principal, "forget a registry, which all projects share");
    const gone = await tx
      .update(registries)
      .set({ deletedAt: sql`now()`, sealedSecret: "", last4: "" })
      .where(and(eq(registries.id, id), isNull(registries.deletedAt)))
      .returning({ id: registries.id });
    if (gone.length === 0) throw notFound();
    await writeAudit(tx, principal, { action: "registry.deleted", resource: { kind: "registry", id } });
  });
}
