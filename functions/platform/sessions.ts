/** Sessions: opened with a fresh secret each time, so that one planted in a browser before is worth nothing. */
import { randomBytes } from "node:crypto";
import { and, asc, eq, isNull, sql } from "drizzle-orm";
import { hashToken } from "../../shared/crypto/token.ts";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { memberships, organizations, sessions, users } from "../../shared/db/identity-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import { permissionsOfRole } from "../../shared/domain/permission.ts";
import { Refusal } from "../../shared/domain/refusal.ts";

export interface OpenedSession {
  id: string;
  /** For the cookie, and kept nowhere. */
  secret: string;
}

export async function openSession(tx: Transaction, userId: string): Promise<OpenedSession> {
  const secret = randomBytes(32).toString("base64url");
  const id = newId("session");
  await tx.insert(sessions).values({
    id,
    userId,
    hash: await hashToken(secret),
    expiresAt: sql`now() + make_interval(secs => ${limits.sessionMs / 1000})`,
  });
  return { id, secret };
}

export async function revokeSession(db: Queryable, id: string): Promise<void> {
  await db.update(sessions).set({ revokedAt: sql`now()` }).where(eq(sessions.id, id));
}

export async function revokeSessionsOf(db: Queryable, userId: string): Promise<void> {
  await db
    .update(sessions)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(sessions.userId, userId), isNull(sessions.revokedAt)));
}

/** Who that is, and under which membership: the given organization, else the oldest one. */
export async function showSession(db: Queryable, userId: string, organizationId: string | null) {
  const [user] = await db
    .select({ id: users.id, email: users.email, name: users.name })
    .from(users)
    .where(eq(users.id, userId));
  const mine = await membershipsOf(db, userId);
  const active = mine.find(({ id }) => id === organizationId) ?? mine[0];
  if (user === undefined || active === undefined) throw noOrganization();
  return {
    user,
    organization: active,
    organizations: mine,
    permissions: [...permissionsOfRole(active.role)],
  };
}

/** Oldest first. */
export function membershipsOf(db: Queryable, userId: string) {
  return db
    .select({ id: organizations.id, name: organizations.name, role: memberships.role })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(eq(memberships.userId, userId))
    .orderBy(asc(memberships.createdAt), asc(organizations.id));
}

export function noOrganization(): Refusal {
  return new Refusal(
    "forbidden",
    "no_organization",
    "You are a member of no organization any more. Ask an owner for an invitation.",
  );
}
