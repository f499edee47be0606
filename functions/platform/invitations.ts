/**
 * Invitations: a one-time link that makes somebody a member. Only the hash of its token is kept, and a new invitation
 * of the same address takes the place of the old one.
 */
import { randomBytes } from "node:crypto";
import { and, desc, eq, gt, isNull, sql } from "drizzle-orm";
import { hashToken } from "../../shared/crypto/token.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { invitations, memberships, users } from "../../shared/db/identity-tables.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Role } from "../../shared/domain/permission.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound, Refusal } from "../../shared/domain/refusal.ts";
import { requireGrant } from "./grant-role.ts";
import type { PlatformParts } from "./parts.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";
import { countTry } from "./sign-in.ts";

/** Of an invitation that can be accepted now. */
export const isOpen = and(
  isNull(invitations.acceptedAt),
  isNull(invitations.revokedAt),
  gt(invitations.expiresAt, sql`now()`),
);

export async function inviteMember(
  parts: PlatformParts,
  principal: Principal,
  { email, role }: { email: string; role: Role },
) {
  refuseNarrowed(principal, "invite members");
  requireGrant(principal, role);
  await countTry(parts, `invite:${principal.userId}`);
  const { organizationId, userId } = principal;
  const token = randomBytes(32).toString("base64url");
  const hash = await hashToken(token);
  return parts.db.transaction(async (tx) => {
    await refuseMember(tx, organizationId, email);
    await tx
      .update(invitations)
      .set({ revokedAt: sql`now()` })
      .where(and(eq(invitations.organizationId, organizationId), eq(invitations.email, email), isOpen));
    const id = newId("invitation");
    const expiresAt = sql`now() + make_interval(secs => ${limits.invitationMs / 1000})`;
    const [row] = await tx
      .insert(invitations)
      .values({ id, organizationId, email, role, hash, invitedBy: userId, expiresAt })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    const resource = { kind: "invitation", id };
    await writeAudit(tx, principal, { action: "member.invited", resource, fields: ["email", "role"] });
    // Behind the #, so that the token is in no server's log and no Referer.
    return { ...show(row), url: `${parts.baseUrl}/accept-invitation#${token}` };
  });
}

export async function listInvitations(db: Queryable, { organizationId }: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(invitations)
    .where(and(eq(invitations.organizationId, organizationId), isOpen, behindCursor(invitations.id, page)))
    .orderBy(desc(invitations.id))
    .limit(page.limit + 1);
  return toPage(rows, page, show);
}

export async function revokeInvitation(db: Database, principal: Principal, id: string): Promise<void> {
  const { organizationId } = principal;
  await db.transaction(async (tx) => {
    const [row] = await tx
      .update(invitations)
      .set({ revokedAt: sql`now()` })
      .where(and(eq(invitations.id, id), eq(invitations.organizationId, organizationId), isOpen))
      .returning({ role: invitations.role });
    if (row === undefined) throw notFound();
    refuseNarrowed(principal, "take back invitations");
    requireGrant(principal, row.role);
    const resource = { kind: "invitation", id };
    await writeAudit(tx, principal, { action: "member.invitation_revoked", resource });
  });
}

async function refuseMember(db: Queryable, organizationId: string, email: string): Promise<void> {
  const [member] = await db
    .select({ userId: users.id })
    .from(users)
    .innerJoin(memberships, eq(memberships.userId, users.id))
    .where(and(eq(users.email, email), eq(memberships.organizationId, organizationId)));
  if (member === undefined) return;
  throw new Refusal("conflict", "already_member", `${email} is a member already.`);
}

function show(row: typeof invitations.$inferSelect) {
  const { id, email, role, invitedBy } = row;
  const { expiresAt, createdAt } = row;
  return {
    id,
    email,
    role,
    invitedBy,
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
  };
}
