/** Adds a server. Nothing is contacted: reaching it is what `check` is for. */
import { writeAudit } from "../../shared/db/audit.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { PlatformParts } from "./parts.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";
import { type ServerAuth, storeCredential } from "./server-credential.ts";
import { requireHostKey, showServer } from "./server-row.ts";

export interface NewServer {
  name: string;
  host: string;
  port: number;
  user: string;
  auth: ServerAuth;
  hostKey: string;
  publicPorts: { http: number; https: number };
}

export async function createServer(parts: PlatformParts, principal: Principal, wanted: NewServer) {
  refuseNarrowed(principal, "add a server");
  requireHostKey(wanted.hostKey);
  const identity = { id: newId("server"), organizationId: principal.organizationId };
  const credential = await storeCredential(parts.sealer, identity, wanted.auth);
  const { name, host, port, user, hostKey, publicPorts } = wanted;
  return parts.db.transaction(async (tx) => {
    const [row] = await tx
      .insert(servers)
      .values({
        ...identity,
        ...credential,
        name,
        host,
        port,
        user,
        hostKey,
        httpPort: publicPorts.http,
        httpsPort: publicPorts.https,
      })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    await writeAudit(tx, principal, { action: "server.created", resource: { kind: "server", id: row.id } });
    return showServer(row);
  });
}
