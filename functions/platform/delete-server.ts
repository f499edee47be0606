/** Forgets a server. Its credential is wiped from the row; nothing on the server is touched. */
import { and, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { PlatformParts } from "./parts.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";

export async function deleteServer(parts: PlatformParts, principal: Principal, id: string): Promise<void> {
  await parts.db.transaction(async (tx) => {
    await load(tx, principal, "server", id);
    refuseNarrowed(principal, "forget a server, which other projects share", ["projectIds"]);
    // Excludes a project that is being put on it at this moment (its insert locks the same row).
    await tx.select({ id: servers.id }).from(servers).where(eq(servers.id, id)).for("update");
    const onIt = await tx.$count(projects, and(eq(projects.serverId, id), isNull(projects.deletedAt)));
    if (onIt > 0) {
      const what = onIt === 1 ? "1 project is" : `${onIt} projects are`;
      throw new Refusal(
        "conflict",
        "server_has_projects",
        `${what} on this server. Delete or release them first.`,
      );
    }
    const busy = await tx.$count(operations, and(eq(operations.subjectId, id), eq(operations.final, false)));
    if (busy > 0) {
      throw new Refusal("conflict", "server_busy", "The server is being set up. Wait until that has ended.");
    }
    await tx
      .update(servers)
      .set({ deletedAt: sql`now()`, sealedCredential: "", publicKey: null })
      .where(eq(servers.id, id));
    await writeAudit(tx, principal, { action: "server.deleted", resource: { kind: "server", id } });
  });
  parts.shell.forget(id);
}
