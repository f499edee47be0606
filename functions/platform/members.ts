/**
 * Members of an organization. Every change takes the lock of the organization, so that two owners who remove each
 * other at the same moment do not leave it without one. A change counts with the next request of the person, since
 * each request asks for the membership.
 */
import { and, desc, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Queryable, Transaction } from "../../shared/db/database.ts";
import { invitations, memberships, organizations, tokens, users } from "../../shared/db/identity-tables.ts";
import { endNotifications } from "../../shared/db/notification-membership.ts";
import { behindCursor, type PageRequest } from "../../shared/db/page.ts";
import { raiseAlert } from "../../shared/db/raise-alert.ts";
import type { Role } from "../../shared/domain/permission.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound, Refusal } from "../../shared/domain/refusal.ts";
import { requireGrant } from "./grant-role.ts";
import { refuseNarrowed } from "./refuse-narrowed.ts";

const columns = {
  userId: memberships.userId,
  email: users.email,
  name: users.name,
  role: memberships.role,
  primaryOwnerId: organizations.primaryOwnerId,
  createdAt: memberships.createdAt,
};

type MemberRow = Awaited<ReturnType<typeof memberQuery>>[number];

function memberQuery(db: Queryable, organizationId: string) {
  return db
    .select(columns)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(eq(memberships.organizationId, organizationId))
    .$dynamic();
}

export async function listMembers(db: Queryable, { organizationId }: Principal, page: PageRequest) {
  const rows = await memberQuery(db, organizationId)
    .where(and(eq(memberships.organizationId, organizationId), behindCursor(memberships.userId, page)))
    .orderBy(desc(memberships.userId))
    .limit(page.limit + 1);
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  return { data: shown.map(show), nextCursor: last?.userId ?? null };
}

export async function changeRole(db: Database, principal: Principal, userId: string, role: Role) {
  return db.transaction(async (tx) => {
    const before = await lockedMember(tx, principal, userId);
    refuseNarrowed(principal, "change members");
    requireGrant(principal, before.role);
    requireGrant(principal, role);
    if (role === before.role) return show(before);
    if (before.role === "owner") await keepOwner(tx, principal, before);
    const { organizationId } = principal;
    await tx
      .update(memberships)
      .set({ role })
      .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)));
    const resource = { kind: "member", id: userId };
    await writeAudit(tx, principal, { action: "member.role_changed", resource, fields: ["role"] });
    return show({ ...before, role });
  });
}

export async function removeMember(db: Database, principal: Principal, userId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const member = await lockedMember(tx, principal, userId);
    refuseNarrowed(principal, "remove members");
    requireGrant(principal, member.role);
    if (member.role === "owner") await keepOwner(tx, principal, member);
    const { organizationId } = principal;
    // Who comes back later does not find the old tokens alive.
    await tx
      .update(tokens)
      .set({ revokedAt: sql`now()` })
      .where(
        and(eq(tokens.organizationId, organizationId), eq(tokens.userId, userId), isNull(tokens.revokedAt)),
      );
    await tx
      .update(invitations)
      .set({ revokedAt: sql`now()` })
      .where(
        and(
          eq(invitations.organizationId, organizationId),
          eq(invitations.invitedBy, userId),
          isNull(invitations.acceptedAt),
        ),
      );
    await tx
      .delete(memberships)
      .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)));
    await endNotifications(tx, { organizationId, userId });
    await raiseAlert(tx, {
      organizationId,
      category: "member.removed",
      title: `${member.email} was removed from the organization`,
      message: `${member.email} was ${member.role}. Sessions and tokens of that person stopped working here at once.`,
      resource: { type: "member", id: userId },
    });
    await writeAudit(tx, principal, { action: "member.removed", resource: { kind: "member", id: userId } });
  });
}

async function lockedMember(tx: Transaction, principal: Principal, userId: string): Promise<MemberRow> {
  const { organizationId } = principal;
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for("update");
  const [row] = await memberQuery(tx, organizationId).where(
    and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)),
  );
  if (row === undefined) throw notFound();
  return row;
}

async function keepOwner(tx: Transaction, { organizationId }: Principal, owner: MemberRow): Promise<void> {
  const owners = await tx.$count(
    memberships,
    and(eq(memberships.organizationId, organizationId), eq(memberships.role, "owner")),
  );
  if (owners <= 1) {
    throw new Refusal("conflict", "last_owner", "This is the last owner. Make somebody else an owner first.");
  }
  if (owner.userId === owner.primaryOwnerId) {
    throw new Refusal(
      "conflict",
      "primary_owner",
      "This is the primary owner, to whom pushes are attributed. Transfer that to another owner first.",
    );
  }
}

function show({ primaryOwnerId, createdAt, ...member }: MemberRow) {
  const primaryOwner = member.userId === primaryOwnerId;
  return { ...member, primaryOwner, createdAt: createdAt.toISOString() };
}
