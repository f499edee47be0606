/**
 * Who is calling: a bearer token, found by its hash. Public routes have no caller. The function asks the database
 * again on each request; what is decided here keeps strangers away from it.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { hashToken, isToken } from "../../shared/crypto/token.ts";
import { limits } from "../../shared/domain/limits.ts";
import { permissionsOf } from "../../shared/domain/permission.ts";
import type { Identity } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { StoredCredential } from "../../shared/ports/edge-store.ts";
import { type CachedCredential, createCredentialCache } from "../adapters/credential-cache.ts";
import type { EdgeEnv, EdgeOptions } from "../edge-options.ts";
import { inBackground } from "./in-background.ts";

export function authenticate(options: EdgeOptions) {
  const { store, clock, log } = options;
  const cache = createCredentialCache(() => clock.nowMs());

  const find = async (tokenHash: string): Promise<CachedCredential | null> => {
    const known = cache.get(tokenHash);
    if (known !== undefined) return known;
    const credential = await store.findCredential(tokenHash);
    return credential === null ? null : cache.set(tokenHash, credential);
  };

  const touch = (c: Context<EdgeEnv>, found: CachedCredential): void => {
    if (clock.nowMs() - found.touchedAtMs < limits.lastUsedMs) return;
    found.touchedAtMs = clock.nowMs();
    inBackground(
      c,
      log,
      "the last use of a token was not written",
      store.touchCredential(found.credential.id),
    );
  };

  return createMiddleware<EdgeEnv>(async (c, next) => {
    if (c.get("matched").route.policy.permission === "public") {
      c.set("identity", null);
      return next();
    }
    const token = bearer(c.req.header("authorization"));
    if (token === null || !isToken(token)) throw unauthenticated();
    const tokenHash = await hashToken(token);
    const found = await find(tokenHash);
    if (found === null) throw unauthenticated();
    const { expiresAtMs } = found.credential;
    if (expiresAtMs !== null && expiresAtMs <= clock.nowMs()) throw unauthenticated();
    touch(c, found);
    c.set("identity", identityOf(found.credential, c));
    await next();
    // The function has asked the database and says that it does not hold any more.
    if (c.res.status === 401) cache.forget(tokenHash);
  });
}

/** The scheme counts in any case (RFC 9110); exactly one space, and one header only. */
function bearer(header: string | undefined): string | null {
  return /^bearer ([^\s,]+)$/i.exec(header ?? "")?.[1] ?? null;
}

function unauthenticated(): Refusal {
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
