/**
 * The secrets that one instance makes for itself. One key ring a class of sealed values, so that a module or the edge
 * can be given only the classes it needs. Self-hosted they lie in the data folder
 * (shared/adapters/instance-secrets.ts); in the cloud they are secrets of the deployment.
 */
export const secretClasses = [
  "webhook",
  "server",
  "destination",
  "notify",
  "env",
  "git",
  "registry",
  "cloud",
  "mail",
  "idempotency",
] as const;

export type SecretClass = (typeof secretClasses)[number];

export interface SealKey {
  kid: string;
  /** 32 bytes, base64. */
  key: string;
}

/** The first key seals; all of them open. */
export type KeyRing = [SealKey, ...SealKey[]];

/** Signs the identity tokens between edge and functions (EdDSA, RFC 8037). */
export interface IdentityKey {
  kty: "OKP";
  crv: "Ed25519";
  alg: "EdDSA";
  kid: string;
  /** Public half, base64url. */
  x: string;
  /** Private half, base64url. */
  d: string;
}

export interface InstanceSecrets {
  classes: Record<SecretClass, KeyRing>;
  identity: IdentityKey;
  /** Of the database role that an edge in a container of its own signs in under (shared/db/edge-role.ts). */
  edgePassword: string;
}
