/**
 * Accepting an invitation, once. Whoever has an account proves it with its password: a link must not be a way to set
 * the password of somebody else. Whoever invited must still be one who may.
 */
import { and, eq, sql } from "drizzle-orm";
import { hashToken } from "../../shared/crypto/token.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { invitations, memberships, users } from "../../shared/db/identity-tables.ts";
import { beginNotifications } from "../../shared/db/notification-membership.ts";
import { raiseAlert } from "../../shared/db/raise-alert.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import { isOpen } from "./invitations.ts";
import type { PlatformParts } from "./parts.ts";
import { hashPassword } from "./password.ts";
import { type OpenedSession, openSession } from "./sessions.ts";
import { checkPassword, countTry, writeSignIn } from "./sign-in.ts";

interface Acceptance {
  token: string;
  name: string;
  password: string;
}

export async function acceptInvitation(
  parts: PlatformParts,
  from: Identity,
  given: Acceptance,
): Promise<OpenedSession & { userId: string; organizationId: string }> {
  const hash = await hashToken(given.token);
  const { email } = await openInvitation(parts.db, hash);
  await countTry(parts, `sign-in:${email}`);
  const known = await isKnown(parts.db, email);
  const passwordHash = known ? null : await hashPassword(newPassword(given.password));
  const account = known ? await checkPassword(parts, { email, password: given.password }) : null;
  return parts.db.transaction(async (tx) => {
    const invitation = await takeInvitation(tx, hash);
    const userId = account?.userId ?? (await addUser(tx, { email, name: given.name, passwordHash }));
    const { organizationId, role } = invitation;
    const joined = await tx
      .insert(memberships)
      .values({ organizationId, userId, role })
      .onConflictDoNothing()
      .returning({ userId: memberships.userId });
    if (joined.length > 0) await announceMember(tx, { organizationId, userId, email, role });
    const session = await openSession(tx, userId);
    const who = { ...from, organizationId, userId, credentialId: session.id };
    const resource = { kind: "member", id: userId };
    await writeAudit(tx, who, { action: "member.added", resource, fields: ["role"] });
    await writeSignIn(tx, from, userId, session.id);
    return { ...session, userId, organizationId };
  });
}

async function announceMember(
  tx: Transaction,
  { email, role, ...membership }: { organizationId: string; userId: string; email: string; role: string },
): Promise<void> {
  await beginNotifications(tx, membership);
  await raiseAlert(tx, {
    organizationId: membership.organizationId,
    category: "member.added",
    title: `${email} joined the organization`,
    message: `${email} accepted an invitation and is ${role} now. Members: slipway member list`,
    resource: { type: "member", id: membership.userId },
  });
}

async function openInvitation(db: Queryable, hash: string) {
  const [invitation] = await db
    .select({ email: invitations.email })
    .from(invitations)
    .where(and(eq(invitations.hash, hash), isOpen));
  if (invitation === undefined) throw notOpen();
  return invitation;
}

/** Of two who come at the same moment, the row gives itself to one. */
async function takeInvitation(tx: Transaction, hash: string) {
  const [invitation] = await tx
    .update(invitations)
    .set({ acceptedAt: sql`now()` })
    .where(and(eq(invitations.hash, hash), isOpen))
    .returning();
  if (invitation === undefined) throw notOpen();
  const [inviter] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(
      and(
        eq(memberships.organizationId, invitation.organizationId),
        eq(memberships.userId, invitation.invitedBy),
      ),
    );
  const may = invitation.role === "owner" ? ["owner"] : ["owner", "admin"];
  if (inviter === undefined || !may.includes(inviter.role)) throw notOpen();
  return invitation;
}

async function isKnown(db: Queryable, email: string): Promise<boolean> {
  return (await db.$count(users, eq(users.email, email))) > 0;
}

async function addUser(
  tx: Transaction,
  user: { email: string; name: string; passwordHash: string | null },
): Promise<string> {
  const [row] = await tx
    .insert(users)
    .values({ id: newId("user"), ...user })
    .onConflictDoNothing()
    .returning({ id: users.id });
  if (row !== undefined) return row.id;
  throw new Refusal("conflict", "account_made_meanwhile", "The account was made at this moment; try again.");
}

function newPassword(password: string): string {
  if (password.length >= limits.passwordLeast) return password;
  throw invalid("body.password", `must have at least ${limits.passwordLeast} characters`);
}

/** Used, expired, taken back or never made: all the same. */
function notOpen(): Refusal {
  return new Refusal(
    "not_found",
    "invitation_not_open",
    "This invitation cannot be accepted any more. Ask for a new one.",
  );
}
