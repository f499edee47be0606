/**
 * Who a token is for, remembered for half a minute. Only what was found is kept, so a new token works at once; a
 * revoked one is refused by the function, which asks the database on each request.
 */
import { LRUCache } from "lru-cache";
import { limits } from "../../shared/domain/limits.ts";
import type { StoredCredential } from "../../shared/ports/edge-store.ts";

export interface CredentialCache {
  get(tokenHash: string): CachedCredential | undefined;
  set(tokenHash: string, credential: StoredCredential): CachedCredential;
  forget(tokenHash: string): void;
}

export interface CachedCredential {
  credential: StoredCredential;
  /** When its last use was last written. */
  touchedAtMs: number;
}

export function createCredentialCache(now: () => number): CredentialCache {
  const cache = new LRUCache<string, CachedCredential>({
    max: limits.credentialCacheEntries,
    ttl: limits.credentialCacheMs,
    ttlResolution: 0,
    perf: { now },
  });
  return {
    get: (tokenHash) => cache.get(tokenHash),
    set(tokenHash, credential) {
      const entry = { credential, touchedAtMs: 0 };
      cache.set(tokenHash, entry);
      return entry;
    },
    forget: (tokenHash) => void cache.delete(tokenHash),
  };
}
