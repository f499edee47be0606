/** Fresh keys, as an instance makes them. */
import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import type { IdentityKey } from "../shared/domain/instance-secrets.ts";

export function makeIdentityKey(): IdentityKey {
  const { x = "", d = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", kid: randomUUID(), x, d };
}

/** 32 bytes as base64. */
export function makeSealKey(): string {
  return randomBytes(32).toString("base64");
}
