/**
 * The edge's questions about sessions: whose it is and, in the same statement, which membership it acts under (the one
 * that is asked for, else the oldest).
 */
import { and, asc, eq, gt, isNull, sql } from "drizzle-orm";
import type { Database } from "../db/database.ts";
import { memberships, sessions } from "../db/identity-tables.ts";
import { limits } from "../domain/limits.ts";
import type { StoredCredential } from "../ports/edge-store.ts";

export async function findSession(
  db: Database,
  hash: string,
  organizationId: string | null,
): Promise<StoredCredential | "not_a_member" | null> {
  const [row] = await db
    .select({
      id: sessions.id,
      userId: sessions.userId,
      organizationId: memberships.organizationId,
      role: memberships.role,
    })
    .from(sessions)
    .leftJoin(
      memberships,
      and(
        eq(memberships.userId, sessions.userId),
        organizationId === null ? undefined : eq(memberships.organizationId, organizationId),
      ),
    )
    .where(and(eq(sessions.hash, hash), isNull(sessions.revokedAt), gt(sessions.expiresAt, sql`now()`)))
    .orderBy(asc(memberships.createdAt), asc(memberships.organizationId))
    .limit(1);
  if (row === undefined) return null;
  const { role, ...found } = row;
  if (found.organizationId === null || role === null) return organizationId === null ? null : "not_a_member";
  const { id, userId } = found;
  const whole = { permissions: null, projectIds: null, serverIds: null, expiresAtMs: null };
  return { id, userId, organizationId: found.organizationId, role, ...whole };
}

export async function touchSession(db: Database, sessionId: string): Promise<void> {
  await db
    .update(sessions)
    .set({ expiresAt: sql`now() + make_interval(secs => ${limits.sessionMs / 1000})` })
    .where(and(eq(sessions.id, sessionId), isNull(sessions.revokedAt), gt(sessions.expiresAt, sql`now()`)));
}
