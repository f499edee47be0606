/**
 * Requests that another site makes in a person's browser. A session's unsafe request must show that its own page sent
 * it; public ones (signing in) come from programs too, which say nothing, and are refused only when the browser says
 * that another site asks. `Sec-Fetch-Site` decides where it is there: no page can set it. Rejected: tokens in forms
 * (every client would have to fetch one first).
 */
import type { Context } from "hono";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { EdgeEnv } from "../edge-options.ts";

type Origin = "same" | "other" | "unsaid";

export function refuseUnlessSameOrigin(c: Context<EdgeEnv>, baseUrl: string): void {
  if (isUnsafe(c) && originOf(c, baseUrl) !== "same") throw crossSite();
}

export function refuseOtherSites(c: Context<EdgeEnv>, baseUrl: string): void {
  if (isUnsafe(c) && originOf(c, baseUrl) === "other") throw crossSite();
}

function originOf(c: Context<EdgeEnv>, baseUrl: string): Origin {
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin" ? "same" : "other";
  const origin = c.req.header("origin");
  if (origin === undefined) return "unsaid";
  const own = [new URL(baseUrl).origin, new URL(c.req.url).origin];
  return own.includes(origin) ? "same" : "other";
}

function isUnsafe(c: Context<EdgeEnv>): boolean {
  return !["GET", "HEAD"].includes(c.req.method);
}

function crossSite(): Refusal {
  return new Refusal(
    "forbidden",
    "cross_site",
    "A browser's request that changes something must come from the platform's own pages (Origin or Sec-Fetch-Site).",
  );
}
