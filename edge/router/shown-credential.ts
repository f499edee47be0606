/**
 * The credential that a request shows. A bearer token wins over a cookie: a browser sends cookies by itself, a token
 * only because somebody said so.
 */
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { sessionCookieName } from "../../shared/http/session-cookie.ts";
import type { EdgeEnv } from "../edge-options.ts";

export interface Shown {
  kind: "token" | "session";
  secret: string;
  /** X-Organization-Id: the organization that is meant. */
  organizationId: string | null;
}

export function shownCredential(c: Context<EdgeEnv>, baseUrl: string): Shown | null {
  const organizationId = c.req.header("x-organization-id") ?? null;
  const authorization = c.req.header("authorization");
  if (authorization !== undefined) {
    const secret = bearer(authorization);
    return secret === null ? null : { kind: "token", secret, organizationId };
  }
  const secret = getCookie(c, sessionCookieName(baseUrl));
  if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return null;
  return { kind: "session", secret, organizationId };
}

/** The scheme counts in any case (RFC 9110); exactly one space, and one header only. */
function bearer(header: string): string | null {
  return /^bearer ([^\s,]+)$/i.exec(header)?.[1] ?? null;
}
