/**
 * Hook secrets that were opened once, by place and sealed form: what the database says now decides which of them count,
 * so a changed or removed secret never counts again, and one that was moved has to open in its new place.
 */
import { LRUCache } from "lru-cache";
import type { Sealer } from "../../shared/crypto/seal.ts";
import { limits } from "../../shared/domain/limits.ts";
import { webhookSecretPlace } from "../../shared/domain/sealed-place.ts";
import type { CheckHmac, PrepareHmac } from "../../shared/ports/hmac.ts";

export interface OpenedSecret {
  secret: string;
  check: CheckHmac;
}

export interface OpenedSecrets {
  /** Rejects when it does not open. */
  open(project: { id: string; organizationId: string }, sealed: string): Promise<OpenedSecret>;
}

export function createOpenedSecrets(sealer: Sealer, prepare: PrepareHmac): OpenedSecrets {
  const cache = new LRUCache<string, OpenedSecret>({ max: limits.openedSecrets });
  return {
    async open(project, sealed) {
      const place = webhookSecretPlace(project);
      const name = JSON.stringify([place, sealed]);
      const known = cache.get(name);
      if (known !== undefined) return known;
      const secret = await sealer.open("webhook", place, sealed);
      const opened = { secret, check: await prepare(secret) };
      cache.set(name, opened);
      return opened;
    },
  };
}
