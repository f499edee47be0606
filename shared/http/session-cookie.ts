/**
 * The cookie of a session. Over https its name has the prefix `__Host-`: a browser then takes it from exactly this
 * host and only over https, so that no neighbouring subdomain can plant one. Its value is random and says nothing.
 */
import { limits } from "../domain/limits.ts";

export function sessionCookieName(baseUrl: string): string {
  return isSecure(baseUrl) ? "__Host-slipway_session" : "slipway_session";
}

/** Value of a Set-Cookie header; 30 days from now. */
export function sessionCookie(baseUrl: string, secret: string): string {
  return cookie(baseUrl, secret, Math.floor(limits.sessionMs / 1000));
}

/** Makes the browser forget it. */
export function endedSessionCookie(baseUrl: string): string {
  return cookie(baseUrl, "", 0);
}

function cookie(baseUrl: string, value: string, maxAgeSeconds: number): string {
  const parts = [
    `${sessionCookieName(baseUrl)}=${value}`,
    "Path=/",
    `Max-Age=${maxAgeSeconds}`,
    "HttpOnly",
    "SameSite=Lax",
  ];
  return [...parts, ...(isSecure(baseUrl) ? ["Secure"] : [])].join("; ");
}

function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith("https:");
}
