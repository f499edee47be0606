/** Signatures of deliveries: HMAC-SHA256 over the raw bytes, compared in constant time by the host itself. */
import type { PrepareHmac } from "../ports/hmac.ts";
import { type Bytes, fromHex, utf8 } from "./bytes.ts";

const algorithm = { name: "HMAC", hash: "SHA-256" };

/** `sha256=<64 hex digits>`; null for every other form, which then counts as no signature. */
export function parseSignature(header: string | null | undefined): Bytes | null {
  const [, digits] = /^sha256=([0-9a-f]{64})$/i.exec(header ?? "") ?? [];
  return digits === undefined ? null : fromHex(digits);
}

/** Away from the caller's thread, whatever the size. */
export const webHmac: PrepareHmac = async (secret) => {
  if (secret === "") return () => false;
  const key = await crypto.subtle.importKey("raw", utf8(secret), algorithm, false, ["verify"]);
  return (content, signature) => crypto.subtle.verify("HMAC", key, signature, content);
};
