/** The port of replays as the composition root fills it. */
import { replayDelivery } from "../../../edge/webhooks/inbox.ts";
import type { Redeliver } from "../../../functions/deploy/inbox/replay.ts";
import { createPostgresEdgeStore } from "../../../shared/adapters/edge-store-postgres.ts";
import type { Database } from "../../../shared/db/database.ts";
import type { Log } from "../../../shared/ports/log.ts";

export function redeliverer(db: Database, log: Log): Redeliver {
  const ingress = { store: createPostgresEdgeStore(db), log, nudge: async () => undefined };
  return (id, replay) => replayDelivery(ingress, id, replay);
}
