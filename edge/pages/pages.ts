/** The pages for people: that it runs, how to call it, and how to join. Plain HTML, the same on both hosts. */
import type { Hono } from "hono";
import { openApiDocument } from "../../shared/contract/openapi.ts";
import type { EdgeEnv } from "../edge-options.ts";
import { acceptInvitationPolicy, renderAcceptInvitation } from "./accept-invitation.ts";
import { renderLanding } from "./landing.ts";
import { renderReference } from "./reference.ts";

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cache-control": "no-cache",
};

export function addPages(app: Hono<EdgeEnv>, version: string): void {
  const document = once(() => openApiDocument(version));
  const reference = once(() => renderReference(document()));
  app.get("/", (c) => c.body(renderLanding(version), 200, pageHeaders));
  app.get("/api/docs", (c) => c.body(reference(), 200, pageHeaders));
  app.get("/accept-invitation", (c) => {
    const nonce = crypto.randomUUID();
    const headers = { ...pageHeaders, "content-security-policy": acceptInvitationPolicy(nonce) };
    return c.body(renderAcceptInvitation(nonce), 200, { ...headers, "cache-control": "no-store" });
  });
  app.get("/api/openapi.json", (c) => c.json(document()));
}

/** Made at the first request: a start does not wait for it. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
