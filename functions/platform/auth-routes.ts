/** The routes of people: parse, call the use case, set the cookie. Setting up is here too, since it signs in. */
import type { Context } from "hono";
import * as contract from "../../shared/contract/auth.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import { organizations } from "../../shared/db/identity-tables.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { ModuleApp, ModuleEnv } from "../../shared/http/module-app.ts";
import { endedSessionCookie, sessionCookie } from "../../shared/http/session-cookie.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { changePassword } from "./change-password.ts";
import { initOrganization } from "./first-organization.ts";
import type { PlatformParts } from "./parts.ts";
import { openSession, revokeSession, showSession } from "./sessions.ts";
import { signIn } from "./sign-in.ts";

export function addAuthRoutes(app: ModuleApp, parts: PlatformParts): void {
  const { db, baseUrl, setUpCode } = parts;
  const hand = (c: Context<ModuleEnv>, { secret }: { secret: string }) =>
    c.header("set-cookie", sessionCookie(baseUrl, secret));

  app.openapi(contract.getSetUp, async (c) =>
    c.json({ data: { needed: (await db.$count(organizations)) === 0 } }, 200),
  );
  app.openapi(contract.setUp, async (c) => {
    const { code, ...wanted } = c.req.valid("json");
    const isFirst = (await db.$count(organizations)) === 0;
    if (isFirst && !setUpCode.isRight(code)) {
      throw new Refusal("forbidden", "wrong_setup_code", "That is not the code on the platform's console.");
    }
    const { userId, organizationId, token } = await initOrganization(db, wanted, c.get("identity"));
    hand(c, await db.transaction((tx) => openSession(tx, userId)));
    return c.json({ data: { ...(await showSession(db, userId, organizationId)), token } }, 201);
  });
  app.openapi(contract.signIn, async (c) => {
    const session = await signIn(parts, c.get("identity"), c.req.valid("json"));
    hand(c, session);
    return c.json({ data: await showSession(db, session.userId, null) }, 200);
  });
  app.openapi(contract.acceptInvitation, async (c) => {
    const session = await acceptInvitation(parts, c.get("identity"), c.req.valid("json"));
    hand(c, session);
    return c.json({ data: await showSession(db, session.userId, session.organizationId) }, 200);
  });

  app.openapi(contract.getSession, async (c) => {
    const { userId, organizationId } = c.get("principal");
    return c.json({ data: await showSession(db, userId, organizationId) }, 200);
  });
  app.openapi(contract.signOut, async (c) => {
    const principal = c.get("principal");
    const resource = { kind: "session", id: principal.credentialId };
    await db.transaction(async (tx) => {
      await revokeSession(tx, principal.credentialId);
      await writeAudit(tx, principal, { action: "session.ended", resource });
    });
    c.header("set-cookie", endedSessionCookie(baseUrl));
    return c.json({ success: true as const }, 200);
  });
  app.openapi(contract.changePassword, async (c) => {
    const principal = c.get("principal");
    hand(c, await changePassword(parts, principal, c.req.valid("json")));
    return c.json({ data: await showSession(db, principal.userId, principal.organizationId) }, 200);
  });
}
