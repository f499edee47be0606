/** Deletes a channel: its secret is wiped, its subscriptions go, and what waits for it is suppressed. */
import { eq, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import { suppressQueued } from "../../shared/db/notification-membership.ts";
import {
  notificationChannels,
  notificationDeliveries,
  notificationSubscriptions,
} from "../../shared/db/notification-tables.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { lockChannel } from "./load-channel.ts";
import type { NotifyParts } from "./parts.ts";

export async function deleteChannel({ db }: NotifyParts, principal: Principal, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockChannel(tx, principal, id);
    await tx.delete(notificationSubscriptions).where(eq(notificationSubscriptions.channelId, id));
    const where = sql`${notificationDeliveries.channelId} = ${id}`;
    await suppressQueued(tx, { where, why: "The channel was deleted." });
    await tx
      .update(notificationChannels)
      .set({ deletedAt: sql`now()`, enabled: false, config: {}, sealedSecret: null, last4: null })
      .where(eq(notificationChannels.id, id));
    const resource = { kind: "notification_channel", id };
    await writeAudit(tx, principal, { action: "notification_channel.deleted", resource });
  });
}
