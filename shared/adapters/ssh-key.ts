/**
 * Private keys of servers: a fresh one in OpenSSH's form, and whether a pasted one can be used. A key is tried before it
 * is kept, so that a wrong passphrase is a 400 at once and not a failed deployment later. Rejected: node:crypto for both
 * (it reads no OpenSSH keys) and any number of derivation rounds (opening a key blocks this thread, 30 ms a round).
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import ssh2 from "ssh2";

export interface SshKeyPair {
  privateKey: string;
  /** One line for `authorized_keys`. */
  publicKey: string;
}

/** The library writes about one key in 400 in a form that it cannot read itself; such a one is thrown away. */
export function generateSshKey(comment: string): SshKeyPair {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync("ed25519", { comment });
    if (findKeyProblem(pair.private, undefined) === null) {
      return { privateKey: pair.private, publicKey: pair.public };
    }
  }
}

/** `SHA256:…` of the public half, as `ssh-keygen -l` prints it. The key must be one without a problem. */
export function fingerprintOfKey(privateKey: string): string {
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  const digest = createHash("sha256").update(parsed.getPublicSSH()).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

export type SshKeyProblem = "unreadable" | "public" | "passphrase_missing" | "passphrase_wrong" | "too_slow";

/** null: it can be used. */
export function findKeyProblem(privateKey: string, passphrase: string | undefined): SshKeyProblem | null {
  if (derivationRounds(privateKey) > roundsMost) return "too_slow";
  const parsed = ssh2.utils.parseKey(privateKey, passphrase);
  if (parsed instanceof Error) return problemOf(parsed.message);
  return parsed.isPrivateKey() ? null : "public";
}

/** ssh-keygen uses 16 to 24 unless told otherwise. */
const roundsMost = 128;

function problemOf(message: string): SshKeyProblem {
  if (/no passphrase given/i.test(message)) return "passphrase_missing";
  return /bad passphrase|integrity check failed|bad decrypt|decrypt/i.test(message)
    ? "passphrase_wrong"
    : "unreadable";
}

/** The last field of the options of OpenSSH's own form: magic, cipher, derivation, { salt, rounds }. 0 in other forms. */
function derivationRounds(privateKey: string): number {
  const inner = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(privateKey)?.[1];
  const bytes = Buffer.from(inner ?? "", "base64");
  const magic = "openssh-key-v1\0";
  if (bytes.subarray(0, magic.length).toString("latin1") !== magic) return 0;
  let at = magic.length;
  let field = Buffer.alloc(0);
  for (let index = 0; index < 3; index++) {
    if (at + 4 > bytes.length) return 0;
    const end = at + 4 + bytes.readUInt32BE(at);
    field = bytes.subarray(at + 4, end);
    at = end;
  }
  return field.length >= 4 ? field.readUInt32BE(field.length - 4) : 0;
}
