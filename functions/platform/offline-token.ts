/** A token of the primary owner, made by whoever holds the database itself (`slipway token create`). */
import { and, asc, eq, inArray, isNull } from "drizzle-orm";
import { hashToken, makeToken } from "../../shared/crypto/token.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { organizations, tokens } from "../../shared/db/identity-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { isPermission } from "../../shared/domain/permission.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import { announceToken } from "./announce-token.ts";

export interface OfflineToken {
  name: string;
  permissions?: string[] | undefined;
  projectIds?: string[] | undefined;
  serverIds?: string[] | undefined;
  expiresInDays?: number | undefined;
  /** Needed only where the instance has several. */
  organizationId?: string | undefined;
}

const dayMs = 86_400_000;

export async function createOfflineToken(db: Database, wanted: OfflineToken, nowMs: number) {
  const name = wanted.name.trim();
  if (name.length < 1 || name.length > 100 || /\p{Cc}/u.test(name))
    throw invalid("name", "must be 1 to 100 characters");
  const permissions = wanted.permissions?.map((tag) => {
    if (!isPermission(tag)) throw invalid("permission", `${tag} is no permission tag`);
    return tag;
  });
  const token = makeToken();
  const hash = await hashToken(token);
  return db.transaction(async (tx) => {
    const { organizationId, userId } = await ownerOf(tx, wanted.organizationId);
    await requireAll(tx, organizationId, "project", wanted.projectIds ?? []);
    await requireAll(tx, organizationId, "server", wanted.serverIds ?? []);
    const id = newId("token", nowMs);
    await tx.insert(tokens).values({
      id,
      organizationId,
      userId,
      name,
      hash,
      permissions: permissions ?? null,
      projectIds: wanted.projectIds ?? null,
      serverIds: wanted.serverIds ?? null,
      expiresAt: wanted.expiresInDays === undefined ? null : new Date(nowMs + wanted.expiresInDays * dayMs),
    });
    await announceToken(tx, { id, name, organizationId, userId });
    const who = { organizationId, userId, credentialId: null, sourceIp: null, requestId: null };
    await writeAudit(tx, who, { action: "token.created", resource: { kind: "token", id } });
    return { id, token };
  });
}

async function ownerOf(db: Queryable, organizationId: string | undefined) {
  const rows = await db
    .select({ organizationId: organizations.id, userId: organizations.primaryOwnerId })
    .from(organizations)
    .where(organizationId === undefined ? undefined : eq(organizations.id, organizationId))
    .orderBy(asc(organizations.id))
    .limit(2);
  const [row, another] = rows;
  if (row === undefined) {
    throw new Refusal(
      "conflict",
      "not_initialized",
      "There is no such organization here. Run `slipway init` first.",
    );
  }
  if (another !== undefined) throw invalid("organization", "is needed, since this instance has several");
  return row;
}

async function requireAll(db: Queryable, organizationId: string, kind: "project" | "server", ids: string[]) {
  if (ids.length === 0) return;
  const table = kind === "project" ? projects : servers;
  const found = await db
    .select({ id: table.id })
    .from(table)
    .where(and(inArray(table.id, ids), eq(table.organizationId, organizationId), isNull(table.deletedAt)));
  const known = new Set(found.map((row) => row.id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalid(kind, `${unknown} is no ${kind} of this organization`);
}
