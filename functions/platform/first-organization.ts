/**
 * The first organization of an instance, with its owner and a token: there is no default account and no default key.
 * Two set-ups at the same moment pass one lock, so that only one of them is the first.
 */
import { sql } from "drizzle-orm";
import { hashToken, makeToken } from "../../shared/crypto/token.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Transaction } from "../../shared/db/database.ts";
import { memberships, organizations, tokens, users } from "../../shared/db/identity-tables.ts";
import { beginNotifications } from "../../shared/db/notification-membership.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { invalid, Refusal } from "../../shared/domain/refusal.ts";
import { hashPassword } from "./password.ts";

export interface FirstOrganization {
  organization: string;
  /** Of the owner; default: what stands before the @. */
  name?: string | undefined;
  email: string;
  password: string;
}

export interface InitializedOrganization {
  organizationId: string;
  userId: string;
  /** Shown this once. It may do all that the owner may. */
  token: string;
}

/** Throws 409 `already_initialized` on an instance that has an organization, and changes nothing then. */
export async function initOrganization(
  db: Database,
  wanted: FirstOrganization,
  from?: Pick<Identity, "sourceIp" | "requestId">,
): Promise<InitializedOrganization> {
  const name = checkedName(wanted.organization);
  const email = checkedEmail(wanted.email);
  const passwordHash = await hashPassword(checkedPassword(wanted.password));
  const token = makeToken();
  const hash = await hashToken(token);
  return db.transaction(async (tx) => {
    await requireFirst(tx);
    const organizationId = newId("organization");
    const userId = newId("user");
    await tx
      .insert(users)
      .values({ id: userId, email, name: wanted.name ?? email.slice(0, email.indexOf("@")), passwordHash });
    await tx.insert(organizations).values({ id: organizationId, name, primaryOwnerId: userId });
    await tx.insert(memberships).values({ organizationId, userId, role: "owner" });
    await beginNotifications(tx, { organizationId, userId });
    const tokenId = newId("token");
    await tx.insert(tokens).values({ id: tokenId, organizationId, userId, name: "first token", hash });
    const { sourceIp = null, requestId = null } = from ?? {};
    const who = { organizationId, userId, credentialId: null, sourceIp, requestId };
    const resource = { kind: "organization", id: organizationId };
    await writeAudit(tx, who, { action: "organization.created", resource });
    return { organizationId, userId, token };
  });
}

async function requireFirst(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('slipway.first-organization', 0))`);
  if ((await tx.$count(organizations)) === 0) return;
  throw new Refusal(
    "conflict",
    "already_initialized",
    "This instance has an organization already; nothing was changed.",
  );
}

function checkedName(name: string): string {
  const trimmed = name.trim();
  const fits = trimmed.length >= 1 && trimmed.length <= limits.nameLength;
  if (!fits || /[\p{Cc}\u2028\u2029]/u.test(trimmed) || !trimmed.isWellFormed()) {
    throw invalid("organization", `must be 1 to ${limits.nameLength} characters without line breaks`);
  }
  return trimmed;
}

function checkedEmail(email: string): string {
  const trimmed = email.trim().toLowerCase();
  if (trimmed.length > 254 || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}.]+(\.[^\s@\p{Cc}.]+)*$/u.test(trimmed)) {
    throw invalid("email", "must be an e-mail address");
  }
  return trimmed;
}

function checkedPassword(password: string): string {
  const { passwordLeast: least, passwordMost: most } = limits;
  if (password.length < least || password.length > most) {
    throw invalid("password", `must have ${least} to ${most} characters`);
  }
  return password;
}
