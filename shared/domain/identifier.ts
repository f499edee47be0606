/**
 * Ids are a type prefix and a ULID, so that they sort by time and a person sees what one names. Opaque to clients.
 * Rejected: database sequences (they tell how much others do) and random UUIDs (they do not sort).
 */
const idPrefixes = {
  organization: "org",
  user: "usr",
  token: "tok",
  session: "ses",
  invitation: "inv",
  server: "srv",
  project: "prj",
  domain: "dom",
  deployment: "dep",
  operation: "op",
  delivery: "whd",
  audit: "aud",
  hook: "hok",
  uploadSession: "ups",
  gitConnection: "gcn",
  registry: "reg",
  service: "svc",
  alert: "alr",
  notificationChannel: "nch",
  notificationSubscription: "nsb",
  notificationDelivery: "ndl",
} as const;

export type IdKind = keyof typeof idPrefixes;

declare const brand: unique symbol;
/** A branded string: an id of one kind is no id of another for the type checker. */
export type Id<K extends IdKind> = string & { readonly [brand]: K };

/** Below every id of its kind that is made from this time on: finds a span of time over a primary key. */
export function firstIdAt(kind: IdKind, ms: number): string {
  return `${idPrefixes[kind]}_${encodeTime(ms).join("")}${alphabet.charAt(0).repeat(16)}`;
}

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Of the ids of every kind. */
export const idForm = /^[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}$/;

let lastMs = -1;
let lastRandom: number[] = [];

/** A fresh id; within one process ids made in the same millisecond still ascend. */
export function newId<K extends IdKind>(
  kind: K,
  nowMs: number = Date.now(),
  random: (length: number) => Uint8Array = (length) => crypto.getRandomValues(new Uint8Array(length)),
): Id<K> {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    lastRandom = [...random(16)].map((byte) => byte % 32);
  } else {
    increment(lastRandom);
  }
  const digits = [...encodeTime(lastMs), ...lastRandom.map((digit) => alphabet.charAt(digit))].join("");
  return `${idPrefixes[kind]}_${digits}` as Id<K>;
}

/** Whether a string has the form of an id of this kind. Says nothing about whether it exists. */
export function isId<K extends IdKind>(kind: K, value: string): value is Id<K> {
  return value.startsWith(`${idPrefixes[kind]}_`) && idForm.test(value);
}

function encodeTime(ms: number): string[] {
  const digits: string[] = [];
  for (let rest = ms, index = 0; index < 10; index++) {
    digits.unshift(alphabet.charAt(rest % 32));
    rest = Math.floor(rest / 32);
  }
  return digits;
}

function increment(digits: number[]): void {
  for (let index = digits.length - 1; index >= 0; index--) {
    const digit = digits[index] ?? 0;
    if (digit < 31) {
      digits[index] = digit + 1;
      return;
    }
    digits[index] = 0;
  }
}
