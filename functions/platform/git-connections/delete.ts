/** Forgets a connection: its secret is wiped from the row. Refused while projects use it, since they could not deploy. */
import { and, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { PlatformParts } from "../parts.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";

export async function deleteGitConnection(
  parts: PlatformParts,
  principal: Principal,
  id: string,
): Promise<void> {
  await parts.db.transaction(async (tx) => {
    await load(tx, principal, "gitConnection", id);
    refuseNarrowed(principal, "forget a git connection, which other projects share");
    // Excludes a project that begins to use it at this moment (use.ts locks the same row).
    await tx
      .select({ id: gitConnections.id })
      .from(gitConnections)
      .where(eq(gitConnections.id, id))
      .for("update");
    const used = await tx.$count(
      projects,
      and(sql`${projects.source} ->> 'connectionId' = ${id}`, isNull(projects.deletedAt)),
    );
    if (used > 0) {
      throw new Refusal(
        "conflict",
        "git_connection_in_use",
        `${used === 1 ? "1 project uses" : `${used} projects use`} this connection. Give them another source first.`,
      );
    }
    await tx
      .update(gitConnections)
      .set({ deletedAt: sql`now()`, sealedSecret: "", last4: "" })
      .where(eq(gitConnections.id, id));
    const resource = { kind: "git_connection", id };
    await writeAudit(tx, principal, { action: "git_connection.deleted", resource });
  });
}
