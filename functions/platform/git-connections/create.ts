/** Adds a connection to a git host. Nothing is contacted: that is what `check` is for. */
import { writeAudit } from "../../../shared/db/audit.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import type { GitConnectionKind } from "../../../shared/domain/git-connection.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { PlatformParts } from "../parts.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";
import { plainAddress, requirePlace, storeSecret } from "./accept.ts";
import { showGitConnection } from "./show.ts";

export interface NewGitConnection {
  name: string;
  provider: "git_host";
  baseUrl: string;
  kind: GitConnectionKind;
  secret: string;
  hostKey?: string | undefined;
}

export async function createGitConnection(
  parts: PlatformParts,
  principal: Principal,
  { name, provider, kind, secret, ...wanted }: NewGitConnection,
) {
  refuseNarrowed(principal, "add a git connection");
  const place = { kind, baseUrl: plainAddress(wanted.baseUrl), hostKey: wanted.hostKey ?? null };
  requirePlace(place);
  const identity = { id: newId("gitConnection"), organizationId: principal.organizationId };
  const stored = await storeSecret(parts.sealer, { ...identity, kind }, secret);
  return parts.db.transaction(async (tx) => {
    const [row] = await tx
      .insert(gitConnections)
      .values({ ...identity, ...place, ...stored, name, provider })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    const resource = { kind: "git_connection", id: row.id };
    await writeAudit(tx, principal, { action: "git_connection.created", resource });
    return showGitConnection(row);
  });
}
