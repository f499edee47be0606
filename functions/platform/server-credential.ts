/** The credential of a server: from what a person gave to what is sealed. Tried before it is kept, never returned. */
import { findKeyProblem, generateSshKey, type SshKeyProblem } from "../../shared/adapters/ssh-key.ts";
import { looksSealed, type Sealer } from "../../shared/crypto/seal.ts";
import { invalid } from "../../shared/domain/refusal.ts";
import { credentialPlace } from "../../shared/domain/sealed-place.ts";
import type { ShellCredential } from "../../shared/ports/shell.ts";

export type ServerAuth =
  | { kind: "key"; privateKey: string; passphrase?: string | undefined }
  | { kind: "password"; password: string }
  | { kind: "generated" };

/** Columns of the server's row. */
export interface StoredCredential {
  authKind: ServerAuth["kind"];
  sealedCredential: string;
  publicKey: string | null;
}

/** Throws 400 naming the field of `body.auth` that is wrong. */
export async function storeCredential(
  sealer: Sealer,
  server: { id: string; organizationId: string },
  auth: ServerAuth,
): Promise<StoredCredential> {
  const { credential, publicKey } = credentialOf(server, auth);
  const sealedCredential = await sealer.seal("server", credentialPlace(server), JSON.stringify(credential));
  return { authKind: auth.kind, sealedCredential, publicKey };
}

function credentialOf(
  server: { id: string },
  auth: ServerAuth,
): { credential: ShellCredential; publicKey: string | null } {
  switch (auth.kind) {
    case "generated": {
      const { privateKey, publicKey } = generateSshKey(`slipway-${server.id}`);
      return { credential: { kind: "key", privateKey }, publicKey };
    }
    case "password":
      refuseSealed(auth.password, "body.auth.password");
      return { credential: { kind: "password", password: auth.password }, publicKey: null };
    case "key": {
      refuseSealed(auth.privateKey, "body.auth.privateKey");
      // A passphrase that is empty is none: forms send it that way.
      const passphrase = auth.passphrase === "" ? undefined : auth.passphrase;
      const problem = findKeyProblem(auth.privateKey, passphrase);
      if (problem !== null) throw invalid("body.auth.privateKey", messageOf[problem], `key_${problem}`);
      const kept = { kind: "key" as const, privateKey: auth.privateKey };
      return { credential: passphrase === undefined ? kept : { ...kept, passphrase }, publicKey: null };
    }
  }
}

const messageOf: Record<SshKeyProblem, string> = {
  unreadable: "is not a private key in OpenSSH or PEM form",
  public: "is the public half; the private one is needed",
  too_slow: "takes too long to open; set it anew with `ssh-keygen -p -a 16`",
  passphrase_missing: "is locked; send its passphrase as well",
  passphrase_wrong: "does not open with this passphrase",
};

function refuseSealed(value: string, path: string): void {
  if (looksSealed(value)) throw invalid(path, "must not start with `sealed:v`");
}
