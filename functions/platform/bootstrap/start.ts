/** Starts a bootstrap, or answers the one that is under way: two people who press the button follow the same one. */
import { and, eq } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Database } from "../../../shared/db/database.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { servers } from "../../../shared/db/server-tables.ts";
import { load } from "../../../shared/db/tenancy.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { insertOperation } from "../../../shared/operations/create.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";
import { bootstrapKindName } from "./states.ts";

/** Answers the id of the operation to follow. */
export async function startBootstrap(db: Database, principal: Principal, serverId: string): Promise<string> {
  return db.transaction(async (tx) => {
    await tx.select({ id: servers.id }).from(servers).where(eq(servers.id, serverId)).for("no key update");
    await load(tx, principal, "server", serverId);
    refuseNarrowed(principal, "set up a server, which other projects share", ["projectIds"]);
    const [open] = await tx
      .select({ id: operations.id })
      .from(operations)
      .where(
        and(
          eq(operations.subjectId, serverId),
          eq(operations.kind, bootstrapKindName),
          eq(operations.final, false),
        ),
      );
    if (open !== undefined) return open.id;
    const id = newId("operation");
    await insertOperation(tx, {
      id,
      organizationId: principal.organizationId,
      kind: bootstrapKindName,
      subjectId: serverId,
      state: "queued",
      createdBy: principal.userId,
    });
    const resource = { kind: "server", id: serverId };
    await writeAudit(tx, principal, { action: "server.bootstrap_started", resource });
    return id;
  });
}
