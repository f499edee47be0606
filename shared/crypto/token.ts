/**
 * Access tokens: `slp_` and 40 base62 digits, of which the last six are a CRC-32, so that a mistyped or made-up one is
 * told without asking the database, and so that secret scanners can tell a real one. Only the SHA-256 is stored: the
 * 34 random digits carry 202 bits, so a slow hash would buy nothing.
 */
import { sha256Hex } from "./bytes.ts";

const prefix = "slp_";
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomDigits = 34;
const checksumDigits = 6;
const form = /^slp_[0-9A-Za-z]{40}$/;

export function makeToken(random: (length: number) => Uint8Array = secureRandom): string {
  let digits = "";
  while (digits.length < randomDigits) {
    for (const byte of random(64)) {
      // 248 is the highest multiple of 62 in a byte: what lies above would favour the first digits.
      if (byte < 248 && digits.length < randomDigits) digits += alphabet.charAt(byte % 62);
    }
  }
  return prefix + digits + checksum(digits);
}

/** Whether it has the form of a token and its checksum is right. Says nothing about whether it exists. */
export function isToken(value: string): boolean {
  if (!form.test(value)) return false;
  const digits = value.slice(prefix.length, -checksumDigits);
  return checksum(digits) === value.slice(-checksumDigits);
}

/** What is stored: SHA-256 of the whole token, hex. */
export function hashToken(token: string): Promise<string> {
  return sha256Hex(token);
}

function checksum(digits: string): string {
  let rest = crc32(digits);
  let out = "";
  for (let index = 0; index < checksumDigits; index++) {
    out = alphabet.charAt(rest % 62) + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}

/** CRC-32 (IEEE 802.3) of ASCII text. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function secureRandom(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}
