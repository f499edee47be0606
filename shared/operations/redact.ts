/**
 * Takes known secrets out of text before it is stored: as they are, and as programs print them (base64 in every
 * alignment, base64url, hex, URL-encoded, JSON-escaped, quoted for a shell). Found by one pass with a table of their
 * first letters, because hundreds of secrets in one regular expression are too slow for a build's log.
 */
import { limits } from "../domain/limits.ts";

const redacted = "[redacted]";

export interface Redactor {
  redact(text: string): string;
  /** As `redact`, of the first `length` characters; a secret that begins before the end is taken out whole. */
  redactStart(text: string, length: number): string;
  /** Characters of the longest form of a secret; 0 where there are none. */
  readonly longest: number;
}

export function createRedactor(secrets: Iterable<string>): Redactor {
  const needles = new Set<string>();
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      if (form.length >= limits.secretLength) {
        needles.add(form);
      }
    }
  }
  const { pairs, byStart } = tableOf(needles);
  const longestAt = (text: string, index: number): number => {
    const pair = ((text.charCodeAt(index) & 255) << 8) | (text.charCodeAt(index + 1) & 255);
    if (pairs[pair] === 0) {
      return 0;
    }
    const candidates = byStart.get(text.slice(index, index + startLength));
    return candidates?.find((needle) => text.startsWith(needle, index))?.length ?? 0;
  };
  const redactStart = (text: string, length: number): string => {
    const end = Math.min(length, text.length);
    let out = "";
    let kept = 0;
    for (let index = 0; needles.size > 0 && index < end; ) {
      const found = longestAt(text, index);
      if (found > 0) {
        out += text.slice(kept, index) + redacted;
        index += found;
        kept = index;
      } else {
        index++;
      }
    }
    return out + text.slice(kept, Math.max(kept, end));
  };
  const longest = Math.max(0, ...[...needles].map((needle) => needle.length));
  return { redact: (text) => redactStart(text, text.length), redactStart, longest };
}

const startLength = 4;

/** A bit for each pair of first letters, and the needles by their first four, longest first. */
function tableOf(needles: ReadonlySet<string>) {
  const pairs = new Uint8Array(65_536);
  const byStart = new Map<string, string[]>();
  for (const needle of [...needles].sort((a, b) => b.length - a.length)) {
    pairs[((needle.charCodeAt(0) & 255) << 8) | (needle.charCodeAt(1) & 255)] = 1;
    const start = needle.slice(0, startLength);
    byStart.set(start, [...(byStart.get(start) ?? []), needle]);
  }
  return { pairs, byStart };
}

/** Every way that we know a secret to be printed, on one line each. */
function formsOf(secret: string): string[] {
  const lines = secret.split(/\r\n|\n|\r/).map((line) => line.trim());
  const whole = [secret, secret.trim(), ...lines];
  return whole.flatMap((text) => [text, ...encodings(text)]).flatMap((form) => form.split(/\r\n|\n|\r/));
}

function encodings(text: string): string[] {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length < limits.secretLength) {
    return [];
  }
  const json = JSON.stringify(text).slice(1, -1);
  const percent = encodeURIComponent(text.toWellFormed());
  const strict = percent.replace(
    /[!'()*~]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const escaped = [percent, strict].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [
    json,
    json.replaceAll("/", "\\/"),
    JSON.stringify(json).slice(1, -1),
    text.replaceAll("'", "'\\''"),
    ...escaped,
    ...escaped.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    hex,
    hex.toUpperCase(),
    ...base64Forms(bytes),
  ];
}

/** Base64 of the secret wherever it begins in the encoded text, and as tools wrap it at 64 and 76 letters. */
function base64Forms(bytes: Uint8Array): string[] {
  const forms: string[] = [];
  for (const before of [0, 1, 2]) {
    const shifted = new Uint8Array(before + bytes.length);
    shifted.set(bytes, before);
    const letters = toBase64(shifted).replaceAll("=", "");
    // The first letters mix in what stands before, the last ones what comes after: only those between are certain.
    const certain = letters.slice(Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6));
    forms.push(
      certain,
      ...(before === 0 ? [letters, toBase64(bytes), ...wrapped(letters, 64), ...wrapped(letters, 76)] : []),
    );
  }
  return forms.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}

function wrapped(letters: string, width: number): string[] {
  const rows: string[] = [];
  for (let start = 0; letters.length > width && start < letters.length; start += width) {
    rows.push(letters.slice(start, start + width));
  }
  return rows;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) {
    binary += String.fromCharCode(byte);
  }
  return btoa(binary);
}
