/**
 * Changes a connection. A new address or host key asks for the secret again and for git_connection:admin: a kept secret
 * is never sent to a new place (decisions.md section 2). A new address takes the webhooks of its projects along.
 */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../../shared/db/audit.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { load } from "../../../shared/db/tenancy.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { invalid, notFound, Refusal } from "../../../shared/domain/refusal.ts";
import { leaveHooks, moveHooks } from "../hooks/follow-connection.ts";
import type { PlatformParts } from "../parts.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";
import { plainAddress, requirePlace, storeSecret } from "./accept.ts";
import { showGitConnection } from "./show.ts";

export interface GitConnectionChange {
  name?: string | undefined;
  baseUrl?: string | undefined;
  secret?: string | undefined;
  hostKey?: string | undefined;
}

export async function updateGitConnection(
  parts: PlatformParts,
  principal: Principal,
  id: string,
  wanted: GitConnectionChange,
) {
  const { before, row, left } = await parts.db.transaction((tx) => write(parts, tx, principal, id, wanted));
  // Outside of the transaction: a git host that hangs must not hold rows.
  const warnings = await moveHooks(parts, principal, before, left);
  return { ...showGitConnection(row), ...(warnings.length === 0 ? {} : { warnings }) };
}

async function write(
  { sealer }: PlatformParts,
  tx: Transaction,
  principal: Principal,
  id: string,
  wanted: GitConnectionChange,
) {
  const seen = await load(tx, principal, "gitConnection", id);
  refuseNarrowed(principal, "change a git connection, which other projects share");
  // Read again under a lock: a secret must go with the address that it was given for.
  const [before] = await tx
    .select()
    .from(gitConnections)
    .where(eq(gitConnections.id, seen.id))
    .for("no key update");
  if (before === undefined || before.deletedAt !== null) throw notFound();
  const place = {
    kind: before.kind,
    baseUrl: wanted.baseUrl === undefined ? before.baseUrl : plainAddress(wanted.baseUrl),
    hostKey: wanted.hostKey ?? before.hostKey,
  };
  const moved = (["baseUrl", "hostKey"] as const).filter((field) => place[field] !== before[field]);
  if (moved.length > 0) requireFreshSecret(principal, wanted.secret, moved);
  requirePlace(place);
  const stored = wanted.secret === undefined ? {} : await storeSecret(sealer, before, wanted.secret);
  const [row] = await tx
    .update(gitConnections)
    .set({ ...place, ...stored, name: wanted.name ?? before.name })
    .where(eq(gitConnections.id, id))
    .returning();
  if (row === undefined) throw new Error("The locked row is gone");
  const fields = Object.entries(wanted).flatMap(([field, value]) => (value === undefined ? [] : [field]));
  const resource = { kind: "git_connection", id };
  if (fields.length > 0) {
    await writeAudit(tx, principal, { action: "git_connection.updated", resource, fields });
  }
  const left = place.baseUrl === before.baseUrl ? [] : await leaveHooks(tx, before);
  return { before, row, left };
}

function requireFreshSecret(
  principal: Principal,
  secret: string | undefined,
  moved: readonly string[],
): void {
  if (!principal.permissions.has("git_connection:admin")) {
    throw new Refusal(
      "forbidden",
      "forbidden",
      `Changing ${moved.join(", ")} needs the permission git_connection:admin.`,
    );
  }
  if (secret === undefined) {
    throw invalid(
      "body.secret",
      `is needed again when ${moved.join(", ")} changes: a kept secret is never sent to a new place`,
      "credential_required",
    );
  }
}
