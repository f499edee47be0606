/**
 * A new password ends every session of the account, also the one that asks: whoever stole its cookie is out as well.
 * The person goes on under a fresh one.
 */
import { eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import { users } from "../../shared/db/identity-tables.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { PlatformParts } from "./parts.ts";
import { hashPassword, verifyPassword } from "./password.ts";
import { type OpenedSession, openSession, revokeSessionsOf } from "./sessions.ts";
import { countTry } from "./sign-in.ts";

export async function changePassword(
  parts: PlatformParts,
  principal: Principal,
  given: { currentPassword: string; newPassword: string },
): Promise<OpenedSession> {
  const { userId } = principal;
  await countTry(parts, `password:${userId}`);
  const [user] = await parts.db.select({ hash: users.passwordHash }).from(users).where(eq(users.id, userId));
  const isRight = await verifyPassword(given.currentPassword, user?.hash ?? "");
  // Not 401: the session holds, and a client would take it for signed out.
  if (!isRight) throw new Refusal("forbidden", "wrong_password", "The current password is wrong.");
  const passwordHash = await hashPassword(given.newPassword);
  return parts.db.transaction(async (tx) => {
    await tx.update(users).set({ passwordHash }).where(eq(users.id, userId));
    await revokeSessionsOf(tx, userId);
    const session = await openSession(tx, userId);
    const resource = { kind: "user", id: userId };
    await writeAudit(tx, principal, { action: "user.password_changed", resource, fields: ["password"] });
    return session;
  });
}
