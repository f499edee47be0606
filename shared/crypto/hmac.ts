/** Signatures of deliveries: HMAC-SHA256 over the raw bytes, compared in constant time by the host itself. */
import type { CryptoKey } from "jose";
import { type Bytes, fromHex, utf8 } from "./bytes.ts";

const algorithm = { name: "HMAC", hash: "SHA-256" };

/** `sha256=<64 hex digits>`; null for every other form, which then counts as no signature. */
export function parseSignature(header: string | null | undefined): Bytes | null {
  const [, digits] = /^sha256=([0-9a-f]{64})$/i.exec(header ?? "") ?? [];
  return digits === undefined ? null : fromHex(digits);
}

/** A secret made ready, for those who check with it again and again. */
export function hmacKey(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", utf8(secret), algorithm, false, ["verify"]);
}

export async function verifyHmac(
  secret: string | CryptoKey,
  content: Bytes,
  signature: Bytes,
): Promise<boolean> {
  // An empty secret is no secret: everybody could sign with it.
  if (secret === "") return false;
  const key = typeof secret === "string" ? await hmacKey(secret) : secret;
  return crypto.subtle.verify("HMAC", key, signature, content);
}
