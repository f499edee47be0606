/** Tokens that a caller sees: the own ones, and with token:admin those of the whole organization. */
import { and, desc, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { tokens } from "../../shared/db/identity-tables.ts";
import { seenTokens } from "../../shared/db/narrowing.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound } from "../../shared/domain/refusal.ts";

export async function listTokens(db: Queryable, principal: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(tokens)
    .where(
      and(
        eq(tokens.organizationId, principal.organizationId),
        isNull(tokens.revokedAt),
        seesAll(principal) ? undefined : eq(tokens.userId, principal.userId),
        seenTokens(principal),
        behindCursor(tokens.id, page),
      ),
    )
    .orderBy(desc(tokens.id))
    .limit(page.limit + 1);
  return toPage(rows, page, showToken);
}

export async function revokeToken(db: Database, principal: Principal, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const token = await load(tx, principal, "token", id);
    if (token.userId !== principal.userId && !seesAll(principal)) throw notFound();
    await tx.update(tokens).set({ revokedAt: sql`now()` }).where(eq(tokens.id, id));
    await writeAudit(tx, principal, { action: "token.revoked", resource: { kind: "token", id } });
  });
}

export function showToken(row: typeof tokens.$inferSelect) {
  const { id, name, permissions, projectIds, serverIds } = row;
  return {
    id,
    name,
    permissions,
    projectIds,
    serverIds,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

function seesAll(principal: Principal): boolean {
  return principal.permissions.has("token:admin");
}
