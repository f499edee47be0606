/**
 * Whether kind, address, host key and secret of a connection fit together, and the secret's columns. Each wrong field
 * is named. A deploy key has no passphrase: nobody is there to type it when a push comes.
 */
import { findKeyProblem, fingerprintOfKey, type SshKeyProblem } from "../../../shared/adapters/ssh-key.ts";
import { looksSealed, type Sealer } from "../../../shared/crypto/seal.ts";
import type { GitConnectionKind } from "../../../shared/domain/git-connection.ts";
import { invalid } from "../../../shared/domain/refusal.ts";
import { gitSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { requireHostKey } from "../server-row.ts";

export interface Place {
  kind: GitConnectionKind;
  baseUrl: string;
  hostKey: string | null;
}

export function requirePlace({ kind, baseUrl, hostKey }: Place): void {
  const ssh = baseUrl.startsWith("ssh:");
  if (kind === "token") {
    if (ssh) throw invalid("body.baseUrl", "must be an http or https URL for a token");
    if (hostKey !== null) throw invalid("body.hostKey", "belongs to a deploy key only");
    return;
  }
  if (!ssh) throw invalid("body.baseUrl", "must be ssh://user@host for a deploy key");
  if (hostKey === null) throw invalid("body.hostKey", "is required for a deploy key", "host_key_required");
  requireHostKey(hostKey);
}

/** One spelling, so that the same address is no change. */
export function plainAddress(baseUrl: string): string {
  return new URL(baseUrl).href.replace(/\/+$/, "");
}

export async function storeSecret(
  sealer: Sealer,
  connection: { id: string; organizationId: string; kind: GitConnectionKind },
  given: string,
): Promise<{ sealedSecret: string; last4: string }> {
  if (looksSealed(given)) throw invalid("body.secret", "must not start with `sealed:v`");
  const { secret, shown } = connection.kind === "token" ? asToken(given) : asDeployKey(given);
  const sealedSecret = await sealer.seal("git", gitSecretPlace(connection), secret);
  return { sealedSecret, last4: shown.slice(-4) };
}

function asToken(given: string) {
  // What is no plain letter could end a line of git's credential protocol, or a header.
  if (!/^[\x21-\x7e]{8,2000}$/.test(given)) {
    throw invalid("body.secret", "must be a token of 8–2000 letters without spaces or line breaks");
  }
  return { secret: given, shown: given };
}

function asDeployKey(given: string) {
  const problem = findKeyProblem(given, undefined);
  if (problem !== null) throw invalid("body.secret", messageOf[problem], `key_${problem}`);
  // OpenSSH does not read a key whose last line has no end.
  return { secret: `${given.trimEnd()}\n`, shown: fingerprintOfKey(given) };
}

const messageOf: Record<SshKeyProblem, string> = {
  unreadable: "is not a private key in OpenSSH or PEM form",
  public: "is the public half; the private one is needed",
  too_slow: "takes too long to open; make a deploy key without a passphrase",
  passphrase_missing: "is locked; make a deploy key without a passphrase",
  passphrase_wrong: "is locked; make a deploy key without a passphrase",
};
