/**
 * What the edge says to a function about a caller: an EdDSA token of 60 s, for one function and for exactly one
 * request (method, path with query, body), usable once. Functions hold public keys only, so a function that is broken
 * into cannot speak for anybody. Rejected: a shared secret (every function could then sign) and mutual TLS (it proves
 * the edge, not the caller).
 */
import { type CryptoKey, importJWK, type JWK, jwtVerify, SignJWT } from "jose";
import type { IdentityKey } from "../domain/instance-secrets.ts";
import { limits } from "../domain/limits.ts";
import { isPermission } from "../domain/permission.ts";
import type { Identity } from "../domain/principal.ts";
import { Refusal } from "../domain/refusal.ts";
import type { CompactSigner } from "../ports/compact-signer.ts";
import { type Bytes, sha256Hex } from "./bytes.ts";

const algorithm = "EdDSA";
const issuer = "slipway-edge";
/** Clocks of two hosts are never quite the same. */
const skewSeconds = 5;
/** One token a request, each remembered for about a minute: enough for 1,500 requests a second. */
const rememberedTokens = 100_000;

/** Of every read, on both sides: not worth a digest each time. */
const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** What a function holds of the edge's key. */
export type IdentityPublicKey = Omit<IdentityKey, "d">;

/** The request that a token is for. */
export interface SignedRequest {
  method: string;
  /** Path with query, as it is sent. */
  path: string;
  /**
   * What is sent, empty when there is none; at most 1 MB by the edge's cap. Read only after the signature holds. A body
   * that passes unread is `stream`: the token is then for the request without it.
   */
  body: (() => Promise<Bytes>) | "stream";
}

export interface IdentitySigner {
  sign(audience: string, request: SignedRequest, identity: Identity): Promise<string>;
}

export interface IdentityVerifier {
  /** Throws a `Refusal` (401) unless the token holds for exactly this request and was never shown before. */
  verify(token: string, request: SignedRequest): Promise<Identity>;
}

export async function createIdentitySigner(
  key: IdentityKey,
  { now = Date.now, sign }: { now?: () => number; sign?: CompactSigner } = {},
): Promise<IdentitySigner> {
  const signed = sign ?? (await signWithWebCrypto(key));
  return {
    async sign(audience, request, identity) {
      const iat = Math.floor(now() / 1000);
      return signed({
        ...{ identity, method: request.method, path: request.path, bodyHash: await hashOf(request) },
        ...{ iss: issuer, aud: audience, sub: identity.userId, jti: crypto.randomUUID() },
        ...{ iat, exp: iat + limits.identitySeconds },
      });
    },
  };
}

async function signWithWebCrypto(key: IdentityKey): Promise<CompactSigner> {
  const imported = await importJWK({ ...key }, algorithm);
  return (claims) =>
    new SignJWT({ ...claims }).setProtectedHeader({ alg: algorithm, kid: key.kid }).sign(imported);
}

export async function createIdentityVerifier(
  options: { audience: string; keys: readonly IdentityPublicKey[] },
  now: () => number = Date.now,
): Promise<IdentityVerifier> {
  const keys = new Map<string, CryptoKey>();
  for (const { kty, crv, kid, x } of options.keys) {
    keys.set(kid, await importPublic({ kty, crv, x }));
  }
  const once = createOnce(now);

  return {
    async verify(token, request) {
      const verified = await jwtVerify(token, (header) => known(keys, header.kid), {
        algorithms: [algorithm],
        issuer,
        audience: options.audience,
        requiredClaims: ["sub", "exp", "iat", "jti"],
        clockTolerance: skewSeconds,
        maxTokenAge: limits.identitySeconds,
        currentDate: new Date(now()),
      }).catch((cause: unknown) => {
        throw refused(cause);
      });
      const claims = verified.payload;
      if (claims["method"] !== request.method || claims["path"] !== request.path)
        throw refused("other request");
      if (claims["bodyHash"] !== (await hashOf(request))) throw refused("other body");
      const identity = claims["identity"];
      if (!isIdentity(identity) || identity.userId !== claims.sub) throw refused("no identity");
      if (!once(claims.jti ?? "")) throw refused("shown before");
      return identity;
    },
  };
}

/** No hash is the word `stream`: a token for a body never holds for a stream, nor the other way round. */
async function hashOf({ body }: SignedRequest): Promise<string> {
  if (body === "stream") return body;
  const bytes = await body();
  return bytes.length === 0 ? hashOfNothing : sha256Hex(bytes);
}

async function importPublic(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error("the public key of the edge is not an Ed25519 key");
  return key;
}

function known(keys: ReadonlyMap<string, CryptoKey>, kid: string | undefined): CryptoKey {
  const key = keys.get(kid ?? "");
  if (key === undefined) throw new Error("signed with a key that is not known here");
  return key;
}

/** True the first time a token is shown. Bounded: the oldest is forgotten, which is also the first to expire. */
function createOnce(now: () => number): (jti: string) => boolean {
  const lifeMs = (limits.identitySeconds + 2 * skewSeconds) * 1000;
  const seen = new Map<string, number>();
  return (jti) => {
    for (const [each, at] of seen) {
      if (seen.size <= rememberedTokens && at > now() - lifeMs) break;
      seen.delete(each);
    }
    if (seen.has(jti)) return false;
    seen.set(jti, now());
    return true;
  };
}

function isIdentity(value: unknown): value is Identity {
  if (typeof value !== "object" || value === null) return false;
  const { organizationId, userId, credentialId, permissions, projectIds, serverIds, sourceIp, requestId } =
    value as Record<string, unknown>;
  const texts = [organizationId, userId, credentialId, sourceIp, requestId];
  return (
    texts.every((text) => typeof text === "string") &&
    isTexts(permissions) &&
    permissions.every(isPermission) &&
    [projectIds, serverIds].every((ids) => ids === null || isTexts(ids))
  );
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** One sentence for every reason: what exactly did not hold is for the log. */
function refused(cause: unknown): Refusal {
  return new Refusal("unauthenticated", "unauthenticated", "This request does not come from the edge.", {
    cause,
  });
}
