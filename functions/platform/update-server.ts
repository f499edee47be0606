/**
 * Changes a server. A new address, port, user or host key asks for the credential again and for server:admin: a kept
 * secret is never sent to a new place (decisions.md section 2).
 */
import { eq, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import type { NewServer } from "./create-server.ts";
import type { PlatformParts } from "./parts.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";
import { storeCredential } from "./server-credential.ts";
import { requireHostKey, showServer } from "./server-row.ts";

type Wanted = { [K in keyof NewServer]?: NewServer[K] | undefined };
const placeFields = ["host", "port", "user", "hostKey"] as const;

/** `action`: what the audit calls it. */
export async function updateServer(
  parts: PlatformParts,
  principal: Principal,
  id: string,
  wanted: Wanted,
  action = "server.updated",
) {
  const before = await load(parts.db, principal, "server", id);
  refuseNarrowed(principal, "change a server, which other projects share", ["projectIds"]);
  const moved = placeFields.filter((field) => wanted[field] !== undefined && wanted[field] !== before[field]);
  if (moved.length > 0) requireFreshCredential(principal, wanted, moved);
  if (wanted.hostKey !== undefined) requireHostKey(wanted.hostKey);
  const credential =
    wanted.auth === undefined ? undefined : await storeCredential(parts.sealer, before, wanted.auth);
  const { name, host, port, user, hostKey, publicPorts } = wanted;
  const reconnect = moved.length > 0 || credential !== undefined;
  const shown = await parts.db.transaction(async (tx) => {
    // Once more under a lock: between the check above and here another change may have moved the server.
    const [present] = await tx.select().from(servers).where(eq(servers.id, id)).for("no key update");
    const same = present !== undefined && placeFields.every((field) => present[field] === before[field]);
    if (!same || present.deletedAt !== null) {
      throw new Refusal(
        "conflict",
        "changed_meanwhile",
        "The server was changed by someone else; look at it again.",
      );
    }
    const [row] = await tx
      .update(servers)
      .set({
        ...credential,
        name: name ?? before.name,
        host: host ?? before.host,
        port: port ?? before.port,
        user: user ?? before.user,
        hostKey: hostKey ?? before.hostKey,
        httpPort: publicPorts?.http ?? before.httpPort,
        httpsPort: publicPorts?.https ?? before.httpsPort,
        revision: reconnect ? sql`${servers.revision} + 1` : servers.revision,
      })
      .where(eq(servers.id, id))
      .returning();
    if (row === undefined) throw new Error("The locked row is gone");
    const fields = Object.keys(wanted).filter((field) => wanted[field as keyof Wanted] !== undefined);
    const resource = { kind: "server", id };
    if (fields.length > 0) await writeAudit(tx, principal, { action, resource, fields });
    return showServer(row);
  });
  if (reconnect) parts.shell.forget(id);
  return shown;
}

function requireFreshCredential(principal: Principal, wanted: Wanted, moved: readonly string[]): void {
  if (!principal.permissions.has("server:admin")) {
    throw new Refusal(
      "forbidden",
      "forbidden",
      `Changing ${moved.join(", ")} needs the permission server:admin.`,
    );
  }
  if (wanted.auth === undefined) {
    throw invalid(
      "body.auth",
      `is needed again when ${moved.join(", ")} changes: a kept secret is never sent to a new place`,
      "credential_required",
    );
  }
}
