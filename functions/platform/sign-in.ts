/**
 * Signing in. An unknown account costs the same work as a wrong password and gets the same answer, so that nobody can
 * ask who has an account. Tries count by account here and by source at the edge. A wrong password is written to the
 * audit behind the answer: waiting for it would tell by the clock that the account is there.
 */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Transaction } from "../../shared/db/database.ts";
import { users } from "../../shared/db/identity-tables.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { PlatformParts } from "./parts.ts";
import { verifyPassword } from "./password.ts";
import { membershipsOf, noOrganization, type OpenedSession, openSession } from "./sessions.ts";

export async function signIn(
  parts: PlatformParts,
  from: Identity,
  given: { email: string; password: string },
): Promise<OpenedSession & { userId: string }> {
  await countTry(parts, `sign-in:${given.email}`);
  const { userId, passwordHash } = await checkPassword(parts, given).catch((error: unknown) => {
    if (error instanceof Refusal) noteRefused(parts, from, given.email);
    throw error;
  });
  return parts.db.transaction(async (tx) => {
    await requireUnchanged(tx, userId, passwordHash);
    const session = await openSession(tx, userId);
    await writeSignIn(tx, from, userId, session.id);
    return { ...session, userId };
  });
}

/** In the audit of every organization that the person can now reach. */
export async function writeSignIn(tx: Transaction, from: Identity, userId: string, sessionId: string) {
  const reached = await membershipsOf(tx, userId);
  if (reached.length === 0) throw noOrganization();
  for (const { id: organizationId } of reached) {
    const who = { ...from, organizationId, userId, credentialId: sessionId };
    await writeAudit(tx, who, { action: "session.opened", resource: { kind: "session", id: sessionId } });
  }
}

/** For an account that nobody has this is one question and no entry. Who tried is not known: only for whom. */
function noteRefused({ db, log }: PlatformParts, from: Identity, email: string): void {
  const note = db.transaction(async (tx) => {
    const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.email, email));
    if (user === undefined) return;
    for (const { id: organizationId } of await membershipsOf(tx, user.id)) {
      const who = { ...from, organizationId, userId: null, credentialId: null };
      await writeAudit(tx, who, { action: "session.refused", resource: { kind: "user", id: user.id } });
    }
  });
  note.catch((error: unknown) =>
    log.warn({ err: error }, "a refused sign-in could not be written to the audit"),
  );
}

/** Of an account that nobody has: zeros, under the parameters that passwords are hashed with. */
const nobodysHash = `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

/** Nobody gets in by a password that was changed while it was being checked: the change has ended all sessions. */
async function requireUnchanged(tx: Transaction, userId: string, passwordHash: string): Promise<void> {
  const [user] = await tx
    .select({ passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.id, userId))
    .for("share");
  if (user?.passwordHash !== passwordHash) throw wrongCredentials();
}

/** Answers whose password it is; throws 401 otherwise. */
export async function checkPassword(
  { db }: PlatformParts,
  { email, password }: { email: string; password: string },
): Promise<{ userId: string; passwordHash: string }> {
  const [user] = await db
    .select({ id: users.id, passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.email, email));
  const isRight = await verifyPassword(password, user?.passwordHash ?? nobodysHash);
  if (user === undefined || user.passwordHash === null || !isRight) throw wrongCredentials();
  return { userId: user.id, passwordHash: user.passwordHash };
}

function wrongCredentials(): Refusal {
  return new Refusal("unauthenticated", "wrong_credentials", "E-mail or password is wrong.");
}

/** Tries of one account in a minute, wherever they come from. */
export async function countTry({ limiter }: PlatformParts, account: string): Promise<void> {
  const rule = { limit: limits.signInPerMinute, windowMs: 60_000 };
  const answer = await limiter.take(`account:${account}`, rule);
  if (answer.allowed) return;
  throw new Refusal("rate_limited", "rate_limited", `At most ${answer.limit} tries a minute.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(answer.resetMs / 1000)),
  });
}
