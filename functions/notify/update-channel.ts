/**
 * Changes a channel. A config that really changes takes `verified` back, whatever else was asked for: the destination
 * may have moved (spec.md "States"). What is left out of a config stays, its secret included.
 */
import { eq, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import { suppressQueued } from "../../shared/db/notification-membership.ts";
import { notificationChannels, notificationDeliveries } from "../../shared/db/notification-tables.ts";
import type { ChannelKind } from "../../shared/domain/notification.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { invalid } from "../../shared/domain/refusal.ts";
import { channelSecretPlace } from "../../shared/domain/sealed-place.ts";
import { acceptConfig } from "./channel-config.ts";
import { storeSecret } from "./create-channel.ts";
import { lockChannel, refuseWider } from "./load-channel.ts";
import type { NotifyParts } from "./parts.ts";
import { type ChannelRow, showChannel } from "./show-channel.ts";

export interface ChannelChange {
  kind?: ChannelKind | undefined;
  label?: string | undefined;
  config?: Record<string, unknown> | undefined;
  enabled?: boolean | undefined;
  verified?: boolean | undefined;
}

export async function updateChannel(
  parts: NotifyParts,
  principal: Principal,
  id: string,
  wanted: ChannelChange,
) {
  return parts.db.transaction(async (tx) => {
    const before = await lockChannel(tx, principal, id);
    refuseImpossible(before, wanted);
    if (wanted.config !== undefined || wanted.verified === true) refuseWider(principal, before);
    const config = wanted.config === undefined ? null : await changedConfig(parts, before, wanted.config);
    const verified = before.kind === "in_app" || (config === null && (wanted.verified ?? before.verified));
    const enabled = wanted.enabled ?? before.enabled;
    // A new place, or a person who says that it works again, ends the rest of a failing channel.
    const rested =
      config === null && wanted.enabled !== true
        ? {}
        : { failures: 0, failingSince: null, blockedUntil: null, lastError: null };
    const [row] = await tx
      .update(notificationChannels)
      .set({ ...config, ...rested, label: wanted.label ?? before.label, enabled, verified })
      .where(eq(notificationChannels.id, id))
      .returning();
    if (row === undefined) throw new Error("The locked row is gone");
    if (!enabled || !verified) {
      const where = sql`${notificationDeliveries.channelId} = ${id}`;
      await suppressQueued(tx, { where, why: "The channel was disabled, or is not verified any more." });
    }
    const fields = Object.entries(wanted).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    if (fields.length > 0) {
      const resource = { kind: "notification_channel", id };
      await writeAudit(tx, principal, { action: "notification_channel.updated", resource, fields });
    }
    return showChannel(row);
  });
}

function refuseImpossible({ kind }: ChannelRow, wanted: ChannelChange): void {
  if (wanted.kind !== undefined && wanted.kind !== kind) {
    throw invalid("body.kind", `cannot change; this channel is ${kind}. Add another one instead`);
  }
  if (kind === "in_app" && wanted.verified === false) {
    throw invalid("body.verified", "an in-app channel is always verified");
  }
}

/** null: nothing changes. */
async function changedConfig(parts: NotifyParts, before: ChannelRow, given: Record<string, unknown>) {
  const kept = { config: before.config, hasSecret: before.sealedSecret !== null };
  const { config, secret } = acceptConfig(before.kind, given, kept);
  const same = config.address === before.config.address && config.url === before.config.url;
  const stored =
    before.sealedSecret === null
      ? null
      : await parts.sealer.open("notify", channelSecretPlace(before), before.sealedSecret);
  if (same && (secret === undefined || secret === stored)) return null;
  return { config, ...(await storeSecret(parts, before, secret)), revision: before.revision + 1 };
}
