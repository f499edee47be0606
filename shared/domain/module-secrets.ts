/**
 * Which secrets each part of the platform is given when it runs by itself, and how they are read from its environment:
 * a ring a class as JSON, so that none holds more than it needs. Something missing or malformed stops it by name; values
 * are never repeated. Pure, since the worker reads them too.
 */
import type { IdentityKey, KeyRing, SecretClass } from "./instance-secrets.ts";
import { StartFailure } from "./start-failure.ts";

/** The public half: all that a function holds of the edge's key. */
export type PublicIdentityKey = Omit<IdentityKey, "d">;
export type ReadValue = (name: string) => string | undefined;

export type Part = "edge" | "platform" | "deploy" | "notify";

/** Classes of sealed values that a part opens. (architecture.md section 6) */
export const classesOf = {
  edge: ["webhook", "idempotency"],
  platform: ["server", "env", "webhook", "git", "registry", "cloud"],
  // `webhook`: a promoted project takes its hook secret along.
  deploy: ["server", "env", "webhook", "git", "registry", "cloud"],
  notify: ["notify"],
} as const satisfies Record<Part, readonly SecretClass[]>;

type Rings<P extends Part> = Record<(typeof classesOf)[P][number], KeyRing>;

export const identityKeyName = "SLIPWAY_IDENTITY_KEY";
export const identityPublicName = "SLIPWAY_IDENTITY_PUBLIC_KEYS";
export const edgeDatabaseName = "SLIPWAY_EDGE_DATABASE_URL";

export function sealName(secretClass: SecretClass): string {
  return `SLIPWAY_SEAL_${secretClass.toUpperCase()}`;
}

export function readRings<P extends Part>(part: P, value: ReadValue): Rings<P> {
  const rings = classesOf[part].map((each) => [each, readRing(sealName(each), value)] as const);
  return Object.fromEntries(rings) as Rings<P>;
}

function readRing(name: string, value: ReadValue): KeyRing {
  const parsed = readJson(
    name,
    value,
    'a list of keys as JSON: [{"kid":"2026-11","key":"<32 bytes, base64>"}]',
  );
  if (!Array.isArray(parsed) || parsed.length === 0 || !parsed.every(isSealKey)) {
    throw wrong(name, 'is not a list of keys as JSON: [{"kid":"2026-11","key":"<32 bytes, base64>"}]');
  }
  return parsed as KeyRing;
}

/** The edge's own key, with its private half. */
export function readIdentityKey(value: ReadValue): IdentityKey {
  const parsed = readJson(identityKeyName, value, "the edge's Ed25519 key as a JSON web key");
  if (isPublicKey(parsed) && "d" in parsed && typeof parsed.d === "string") return parsed as IdentityKey;
  throw wrong(identityKeyName, "is not a private Ed25519 key as a JSON web key with a kid");
}

/** Public halves; several while a key is being changed. A private half is refused: a function must not be able to sign. */
export function readIdentityPublicKeys(value: ReadValue): PublicIdentityKey[] {
  const parsed = readJson(identityPublicName, value, "the public halves of the edge's keys as a JSON list");
  if (!Array.isArray(parsed) || parsed.length === 0 || !parsed.every(isPublicKey)) {
    throw wrong(identityPublicName, "is not a JSON list of Ed25519 keys with a kid");
  }
  if (parsed.some((key) => "d" in key))
    throw wrong(identityPublicName, "holds a private half; leave out `d`");
  return parsed;
}

/** Undefined: the edge has no role of its own. */
export function readEdgeDatabase(value: ReadValue): string | undefined {
  const url = value(edgeDatabaseName);
  if (url === undefined || /^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw wrong(edgeDatabaseName, "is not a Postgres address");
}

function readJson(name: string, value: ReadValue, what: string): unknown {
  const text = value(name);
  if (text === undefined || text.trim() === "") throw wrong(name, `is missing: ${what}`);
  try {
    return JSON.parse(text);
  } catch {
    // What it holds is a secret: not even the parser's message, which quotes it, may be shown.
    throw wrong(name, "is not JSON");
  }
}

function isSealKey(value: unknown): boolean {
  const { kid, key } = (value ?? {}) as Record<string, unknown>;
  return typeof kid === "string" && /^[\w-]{1,64}$/.test(kid) && typeof key === "string" && is32Bytes(key);
}

function is32Bytes(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text);
}

function isPublicKey(value: unknown): value is PublicIdentityKey {
  const { kty, crv, kid, x } = (value ?? {}) as Record<string, unknown>;
  return kty === "OKP" && crv === "Ed25519" && typeof kid === "string" && typeof x === "string";
}

function wrong(name: string, what: string): StartFailure {
  return new StartFailure("secret_missing", `${name} ${what}. \`docs/operating.md\` says how to make it.`);
}
