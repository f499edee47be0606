/**
 * Mints a token. One made by a token never exceeds that token: tags, projects, servers and expiry are each within the
 * maker's, and what is not said is inherited (decisions.md section 2). The secret is in the answer and nowhere else.
 */
import { eq } from "drizzle-orm";
import { hashToken, makeToken } from "../../shared/crypto/token.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { tokens } from "../../shared/db/identity-tables.ts";
import { load } from "../../shared/db/tenancy.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Permission } from "../../shared/domain/permission.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import { announceToken } from "./announce-token.ts";
import { showToken } from "./tokens.ts";

export interface NewToken {
  name: string;
  permissions?: Permission[] | undefined;
  projectIds?: string[] | undefined;
  serverIds?: string[] | undefined;
  expiresInDays?: number | undefined;
}

const dayMs = 86_400_000;

export async function createToken(db: Database, principal: Principal, wanted: NewToken, nowMs: number) {
  const secret = makeToken();
  const hash = await hashToken(secret);
  return db.transaction(async (tx) => {
    const maker = await makerOf(tx, principal);
    // Ids that the maker may not see are 404 here, as everywhere; that also keeps them within its own narrowing.
    for (const id of wanted.serverIds ?? []) await load(tx, principal, "server", id);
    for (const [index, id] of (wanted.projectIds ?? []).entries()) {
      const { serverId } = await load(tx, principal, "project", id);
      if (wanted.serverIds !== undefined && !wanted.serverIds.includes(serverId)) {
        throw invalid(`body.projectIds.${index}`, "is on none of the servers in serverIds");
      }
    }
    const id = newId("token", nowMs);
    const [row] = await tx
      .insert(tokens)
      .values({
        id,
        organizationId: principal.organizationId,
        userId: principal.userId,
        name: wanted.name,
        hash,
        permissions: permissionsWithin(principal, maker.permissions, wanted.permissions),
        projectIds: unique(wanted.projectIds) ?? principal.projectIds,
        serverIds: unique(wanted.serverIds) ?? principal.serverIds,
        expiresAt: expiryWithin(maker.expiresAt, wanted.expiresInDays, nowMs),
      })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    await announceToken(tx, {
      id,
      name: wanted.name,
      organizationId: principal.organizationId,
      userId: row.userId,
    });
    await writeAudit(tx, principal, { action: "token.created", resource: { kind: "token", id } });
    return { ...showToken(row), token: secret };
  });
}

async function makerOf(db: Queryable, principal: Principal) {
  const [maker] = await db
    .select({ permissions: tokens.permissions, expiresAt: tokens.expiresAt })
    .from(tokens)
    .where(eq(tokens.id, principal.credentialId));
  return maker ?? { permissions: null, expiresAt: null };
}

/** null stands for "all that the user may do", and only a maker without limits of its own may hand that on. */
function permissionsWithin(
  principal: Principal,
  ofMaker: Permission[] | null,
  wanted: Permission[] | undefined,
): Permission[] | null {
  if (wanted === undefined) return ofMaker;
  const beyond = wanted.filter((tag) => !principal.permissions.has(tag));
  if (beyond.length > 0) {
    throw new Refusal(
      "forbidden",
      "exceeds_maker",
      `You do not hold ${beyond.join(", ")} and cannot hand that on.`,
    );
  }
  return [...new Set(wanted)];
}

function expiryWithin(ofMaker: Date | null, days: number | undefined, nowMs: number): Date | null {
  if (days === undefined) return ofMaker;
  const wanted = new Date(nowMs + days * dayMs);
  if (ofMaker !== null && wanted > ofMaker) {
    throw new Refusal(
      "forbidden",
      "exceeds_maker",
      `The token that makes this one expires ${ofMaker.toISOString()}, before the new one would.`,
    );
  }
  return wanted;
}

function unique(ids: string[] | undefined): string[] | undefined {
  return ids === undefined ? undefined : [...new Set(ids)];
}
