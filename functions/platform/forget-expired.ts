/** Sessions and invitations that are over long enough for nobody to ask about them; the audit keeps that they were. */
import { lt, or, sql } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { invitations, sessions } from "../../shared/db/identity-tables.ts";

const longAgo = sql`now() - interval '30 days'`;

export async function forgetExpired(db: Queryable): Promise<void> {
  await db.delete(sessions).where(or(lt(sessions.expiresAt, sql`now()`), lt(sessions.revokedAt, longAgo)));
  await db.delete(invitations).where(lt(invitations.expiresAt, longAgo));
}
