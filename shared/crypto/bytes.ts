/** Text, bytes and their spellings, with what both hosts (workerd and Node) have. */
import { base64url } from "jose";

const encoder = new TextEncoder();

export type Bytes = Uint8Array<ArrayBuffer>;

export function utf8(text: string): Bytes {
  return Uint8Array.from(encoder.encode(text));
}

export function toBase64url(bytes: Uint8Array): string {
  return base64url.encode(bytes);
}

/** Takes base64 and base64url, with or without padding; throws on anything else. */
export function fromBase64(text: string): Bytes {
  return Uint8Array.from(base64url.decode(text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** null when it is not an even number of hex digits. */
export function fromHex(text: string): Bytes | null {
  if (!/^([0-9a-f]{2})*$/i.test(text)) return null;
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(text.slice(index * 2, index * 2 + 2), 16);
  }
  return bytes;
}

export async function sha256Hex(content: string | Bytes): Promise<string> {
  const bytes = typeof content === "string" ? utf8(content) : content;
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
