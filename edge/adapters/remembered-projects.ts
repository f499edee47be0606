/**
 * What the last look-up of a repository found, kept for its next delivery, whatever hint that has: so few projects hold no
 * more secrets than are tried. Nothing is believed for it: the statement that stores the delivery asks again, and
 * refuses where the answer has changed (`InboxStore.claim`). Only what verified a delivery is kept, and what verifies
 * none any more is forgotten, so that a refused body goes no further than the edge.
 */
import { LRUCache } from "lru-cache";
import { limits } from "../../shared/domain/limits.ts";
import type { LookUp } from "../../shared/ports/edge-store.ts";

export interface RememberedProjects {
  recall(repository: string): LookUp | undefined;
  /** Too many projects, or none, are forgotten. */
  keep(lookUp: LookUp): void;
  forget(repository: string): void;
}

export function createRememberedProjects(): RememberedProjects {
  const lookUps = new LRUCache<string, LookUp>({ max: limits.lookUpsRemembered });
  return {
    recall: (repository) => lookUps.get(repository),
    keep(lookUp) {
      const { length } = lookUp.projects;
      if (length > 0 && length <= limits.webhookSecretsTried) lookUps.set(lookUp.repository, lookUp);
      else lookUps.delete(lookUp.repository);
    },
    forget: (repository) => void lookUps.delete(repository),
  };
}
