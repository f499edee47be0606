/** A fresh key pair of the edge, as an instance makes one. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import type { IdentityKey } from "../shared/domain/instance-secrets.ts";

export function makeIdentityKey(): IdentityKey {
  const { x = "", d = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", kid: randomUUID(), x, d };
}
