/**
 * Secrets at rest: AES-256-GCM, bound to their place (organization, table, column, row) and to a class of keys, so
 * that a ciphertext moved to another row, column or organization does not open. The first key of a ring seals, every
 * key of it opens: rotation is a new key in front. A module gets the rings it needs and no other.
 * Rejected: one key for everything (the edge would hold the SSH keys) and JWE (the header says nothing that we need).
 */
import type { CryptoKey } from "jose";
import type { SealKey, SecretClass } from "../domain/instance-secrets.ts";
import { Refusal } from "../domain/refusal.ts";
import type { SealedPlace } from "../domain/sealed-place.ts";
import { type Bytes, fromBase64, toBase64url, toHex, utf8 } from "./bytes.ts";

/** The rings that this holder was given. */
export type KeyRings = Partial<Record<SecretClass, readonly SealKey[]>>;

export interface Sealer {
  /** Refuses (400) a plaintext that itself looks sealed. */
  seal(secretClass: SecretClass, place: SealedPlace, plaintext: string): Promise<string>;
  /** Throws `SealBroken` when it was not sealed for exactly this class and place, or was changed since. */
  open(secretClass: SecretClass, place: SealedPlace, sealed: string): Promise<string>;
}

/** A stored secret does not open: tampered with, moved, or its key is gone. A bug or an attack, never a user's mistake. */
export class SealBroken extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "SealBroken";
  }
}

const ivBytes = 12;
const form = /^sealed:v1:([a-z]+):([A-Za-z0-9_-]{1,64}):([A-Za-z0-9_-]+)$/;

export function looksSealed(value: string): boolean {
  return /^\s*sealed:v\d+:/i.test(value);
}

export function createSealer(rings: KeyRings): Sealer {
  for (const ring of Object.values(rings)) for (const each of ring) checkKey(each);
  const imported = new Map<string, Promise<CryptoKey>>();

  const keyOf = (secretClass: SecretClass, each: SealKey): Promise<CryptoKey> => {
    const name = `${secretClass}:${each.kid}`;
    const known = imported.get(name);
    if (known !== undefined) return known;
    const key = crypto.subtle.importKey("raw", fromBase64(each.key), "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]);
    imported.set(name, key);
    return key;
  };

  return {
    async seal(secretClass, place, plaintext) {
      if (looksSealed(plaintext)) {
        throw new Refusal("validation", "sealed_input", "A value must not start with `sealed:v`.");
      }
      const ring = rings[secretClass];
      const first = ring?.[0];
      if (first === undefined) throw new Error(`no key of the class ${secretClass} is held here`);
      const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
      const bound = { name: "AES-GCM", iv, additionalData: bind(secretClass, first.kid, place) };
      const sealed = await crypto.subtle.encrypt(bound, await keyOf(secretClass, first), utf8(plaintext));
      return `sealed:v1:${secretClass}:${first.kid}:${toBase64url(join(iv, new Uint8Array(sealed)))}`;
    },

    async open(secretClass, place, sealed) {
      const [, ofClass, kid, content] = form.exec(sealed) ?? [];
      if (kid === undefined || content === undefined)
        throw new SealBroken("a stored secret is not in sealed form");
      if (ofClass !== secretClass) throw new SealBroken("a stored secret is of another class");
      const key = rings[secretClass]?.find((each) => each.kid === kid);
      if (key === undefined) throw new SealBroken(`no key ${kid} of the class ${secretClass} is held here`);
      const bytes = fromBase64(content);
      const bound = {
        name: "AES-GCM",
        iv: bytes.slice(0, ivBytes),
        additionalData: bind(secretClass, kid, place),
      };
      try {
        const plain = await crypto.subtle.decrypt(bound, await keyOf(secretClass, key), bytes.slice(ivBytes));
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(plain);
      } catch (cause) {
        throw new SealBroken(`a secret in ${place.table}.${place.column} does not open`, { cause });
      }
    },
  };
}

/**
 * Keyed hash of a value, so that a change shows without showing the value. `context` (the row, the key) keeps equal
 * values of different places from looking equal. 32 hex digits.
 */
export async function fingerprint(value: string, key: string, context = ""): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", fromBase64(key), algorithm, false, ["sign"]);
  const content = utf8(JSON.stringify(["slipway:fingerprint:v1", context, value]));
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", imported, content));
  return toHex(mac).slice(0, 32);
}

function checkKey(key: SealKey): void {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(key.kid)) throw new Error("the id of a sealing key has a wrong form");
  if (fromBase64(key.key).length !== 32) throw new Error(`the sealing key ${key.kid} is not 32 bytes long`);
}

/** JSON keeps the parts apart: no two places have the same spelling. */
function bind(secretClass: SecretClass, kid: string, place: SealedPlace): Bytes {
  const { organizationId, table, column, row } = place;
  return utf8(JSON.stringify(["slipway:sealed:v1", secretClass, kid, organizationId, table, column, row]));
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
