/**
 * Who a token is for, remembered for half a minute. Only what was found is kept, so a new token works at once; a
 * revoked one is refused by the function, which asks the database on each request. Kept by the secret itself: its hash
 * would cost each request a tenth of a read, and protect it from nobody who reads this memory, where requests pass and
 * keys lie.
 */
import { LRUCache } from "lru-cache";
import { limits } from "../../shared/domain/limits.ts";
import type { StoredCredential } from "../../shared/ports/edge-store.ts";

export interface CredentialCache {
  get(shown: string): CachedCredential | undefined;
  set(shown: string, credential: StoredCredential): CachedCredential;
  forget(shown: string): void;
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
    get: (shown) => cache.get(shown),
    set(shown, credential) {
      const entry = { credential, touchedAtMs: 0 };
      cache.set(shown, entry);
      return entry;
    },
    forget: (shown) => void cache.delete(shown),
  };
}
