/**
 * What the last look-up of a repository found, kept for the next delivery of it. Nothing is believed for that: the
 * statement that stores the delivery asks again, and refuses where the answer has changed (`InboxStore.claim`). Only what
 * verified a delivery is kept, so that nobody without a secret fills this.
 */
import { LRUCache } from "lru-cache";
import { limits } from "../../shared/domain/limits.ts";
import type { LookUp } from "../../shared/ports/edge-store.ts";

export interface RememberedProjects {
  recall(repository: string, hookId: string | null): LookUp | undefined;
  keep(lookUp: LookUp): void;
}

export function createRememberedProjects(): RememberedProjects {
  const lookUps = new LRUCache<string, LookUp>({ max: limits.lookUpsRemembered });
  return {
    recall: (repository, hookId) => lookUps.get(keyOf(repository, hookId)),
    keep(lookUp) {
      const { length } = lookUp.projects;
      const key = keyOf(lookUp.repository, lookUp.hookId);
      if (length > 0 && length <= limits.projectsOfLookUp) lookUps.set(key, lookUp);
      else lookUps.delete(key);
    },
  };
}

function keyOf(repository: string, hookId: string | null): string {
  return JSON.stringify([repository, hookId]);
}
