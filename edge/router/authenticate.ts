/**
 * Who is calling: a bearer token or the cookie of a session, found by its hash. Public routes have no caller. The
 * function asks the database again on each request; what is decided here keeps strangers away from it.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { hashToken, isToken } from "../../shared/crypto/token.ts";
import { limits } from "../../shared/domain/limits.ts";
import { permissionsOf } from "../../shared/domain/permission.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { notFound, Refusal } from "../../shared/domain/refusal.ts";
import { endedSessionCookie, sessionCookie } from "../../shared/http/session-cookie.ts";
import type { StoredCredential } from "../../shared/ports/edge-store.ts";
import { type CachedCredential, createCredentialCache } from "../adapters/credential-cache.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { inBackground } from "./in-background.ts";
import { refuseOtherSites, refuseUnlessSameOrigin } from "./same-origin.ts";
import { type Shown, shownCredential } from "./shown-credential.ts";

export function authenticate(options: EdgeOptions) {
  const { store, clock, log, baseUrl } = options;
  const cache = createCredentialCache(() => clock.nowMs());

  const ask = async (shown: Shown): Promise<StoredCredential | null> => {
    if (shown.kind === "token") {
      return isToken(shown.secret) ? store.findCredential(await hashToken(shown.secret)) : null;
    }
    const found = await store.findSession(await hashToken(shown.secret), shown.organizationId);
    if (found === "not_a_member") throw notFound();
    return found;
  };

  const find = async (shown: Shown): Promise<CachedCredential | null> => {
    const known = cache.get(keyOf(shown));
    if (known !== undefined) return known;
    const credential = await ask(shown);
    return credential === null ? null : cache.set(keyOf(shown), credential);
  };

  const touch = (c: Context<EdgeEnv>, found: CachedCredential, shown: Shown): void => {
    if (clock.nowMs() - found.touchedAtMs < limits.lastUsedMs) return;
    found.touchedAtMs = clock.nowMs();
    const { id } = found.credential;
    const isSession = shown.kind === "session";
    const written = isSession ? store.touchSession(id) : store.touchCredential(id);
    inBackground(c, log, "the last use of a credential was not written", written);
    // The browser's copy of a session slides along.
    if (isSession) c.set("cookie", sessionCookie(baseUrl, shown.secret));
  };

  return createMiddleware<EdgeEnv>(async (c, next) => {
    if (c.get("matched").route.policy.permission === "public") {
      if (c.get("matched").route.policy.module !== "edge") refuseOtherSites(c, baseUrl);
      c.set("identity", null);
      return next();
    }
    const shown = shownCredential(c, baseUrl);
    if (shown === null) throw unauthenticated();
    const found = await find(shown);
    if (found === null || isOver(found.credential, clock.nowMs())) {
      if (shown.kind === "session") c.set("cookie", endedSessionCookie(baseUrl));
      throw unauthenticated();
    }
    if (shown.kind === "session") refuseUnlessSameOrigin(c, baseUrl);
    else if ((shown.organizationId ?? found.credential.organizationId) !== found.credential.organizationId)
      throw notFound();
    touch(c, found, shown);
    c.set("identity", identityOf(found.credential, c));
    c.set("askAgain", async () => {
      const present = await ask(shown);
      return present === null ? null : identityOf(present, c);
    });
    await next();
    // The function has asked the database and says that it does not hold any more.
    if (c.res.status === 401) cache.forget(keyOf(shown));
  });
}

/** A session is another caller in each of the person's organizations. */
function keyOf({ kind, secret, organizationId }: Shown): string {
  return `${kind} ${secret} ${kind === "session" ? (organizationId ?? "") : ""}`;
}

/** A session slides on in the database, so that only the database says when it is over. */
function isOver({ expiresAtMs }: StoredCredential, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

export function unauthenticated(): Refusal {
  return new Refusal(
    "unauthenticated",
    "unauthenticated",
    "This needs an access token that holds: `Authorization: Bearer slp_…`.",
  );
}

function identityOf(credential: StoredCredential, c: Context<EdgeEnv>): Identity {
  return {
    organizationId: credential.organizationId,
    userId: credential.userId,
    credentialId: credential.id,
    permissions: [...permissionsOf(credential.role, credential.permissions)],
    projectIds: credential.projectIds,
    serverIds: credential.serverIds,
    sourceIp: c.get("sourceIp"),
    requestId: c.get("requestId"),
  };
}
