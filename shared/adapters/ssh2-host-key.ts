/**
 * Which host key a server must present, and how the one it presents is read. The pinned key decides which algorithm is offered, so a
 * server with several keys presents the one a person confirmed. Whole keys are compared, not fingerprints.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { ServerHostKeyAlgorithm } from "ssh2";
import { type HostKey, ShellFailure } from "../ports/shell.ts";

/** Signature algorithms by key type. SHA-1 signatures (`ssh-rsa`) and DSA are left out: no supported server needs them. */
const algorithmsOfType: Readonly<Record<string, readonly ServerHostKeyAlgorithm[]>> = {
  "ssh-ed25519": ["ssh-ed25519"],
  "ecdsa-sha2-nistp256": ["ecdsa-sha2-nistp256"],
  "ecdsa-sha2-nistp384": ["ecdsa-sha2-nistp384"],
  "ecdsa-sha2-nistp521": ["ecdsa-sha2-nistp521"],
  "ssh-rsa": ["rsa-sha2-512", "rsa-sha2-256"],
};

/** What to offer when no key is pinned yet; the strongest first, so that this is the one a person confirms. */
export const anyHostKeyAlgorithm: ServerHostKeyAlgorithm[] = Object.values(algorithmsOfType).flat();

export interface PinnedKey {
  algorithms: ServerHostKeyAlgorithm[];
  matches(presented: Uint8Array): boolean;
}

/** Reads `<type> <base64>[ comment]`. A key that cannot be read pins nothing, so nothing may be connected. */
export function readPinnedKey(hostKey: string): PinnedKey {
  const [type = "", base64 = ""] = hostKey.trim().split(/\s+/);
  const algorithms = algorithmsOfType[type];
  const bytes = Buffer.from(base64, "base64");
  if (algorithms === undefined || typeOf(bytes) !== type) {
    throw new ShellFailure(
      "host_key_changed",
      "The confirmed host key of this server cannot be read. Confirm the server's key again.",
    );
  }
  return {
    algorithms: [...algorithms],
    matches: (presented) => presented.length === bytes.length && timingSafeEqual(presented, bytes),
  };
}

/** A presented key as `<type> <base64>` with its fingerprint as OpenSSH prints it. */
export function describeHostKey(presented: Uint8Array): HostKey {
  const bytes = Buffer.from(presented);
  const type = typeOf(bytes);
  const digest = createHash("sha256").update(bytes).digest("base64").replace(/=+$/, "");
  return { key: `${type} ${bytes.toString("base64")}`, type, fingerprint: `SHA256:${digest}` };
}

/** The wire form starts with the length of the type's name and the name. */
function typeOf(bytes: Buffer): string {
  if (bytes.length < 4) {
    return "";
  }
  const length = bytes.readUInt32BE(0);
  return length > 64 ? "" : bytes.subarray(4, 4 + length).toString("latin1");
}
