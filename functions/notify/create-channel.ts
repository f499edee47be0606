/** Adds a channel of the caller. Nothing is contacted; an in-app one is verified at once, any other by a test. */
import { and, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Transaction } from "../../shared/db/database.ts";
import { notificationChannels } from "../../shared/db/notification-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { ChannelKind } from "../../shared/domain/notification.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { channelSecretPlace } from "../../shared/domain/sealed-place.ts";
import { acceptConfig } from "./channel-config.ts";
import { makeSigningKey } from "./channels/webhook.ts";
import type { NotifyParts } from "./parts.ts";
import { showChannel } from "./show-channel.ts";

export interface NewChannel {
  kind: ChannelKind;
  label: string;
  config: Record<string, unknown>;
  enabled: boolean;
}

export async function createChannel(parts: NotifyParts, principal: Principal, wanted: NewChannel) {
  const { kind, label, enabled } = wanted;
  const { userId, projectIds, serverIds } = principal;
  const accepted = acceptConfig(kind, wanted.config, null);
  const made = kind === "webhook" && accepted.secret === undefined ? makeSigningKey() : undefined;
  const id = newId("notificationChannel");
  const secret = await storeSecret(parts, { id, userId }, made ?? accepted.secret);
  return parts.db.transaction(async (tx) => {
    await refuseTooMany(tx, userId);
    const [row] = await tx
      .insert(notificationChannels)
      .values({
        ...{ id, userId, kind, label, enabled, projectIds, serverIds },
        config: accepted.config,
        ...secret,
        verified: kind === "in_app",
      })
      .returning();
    if (row === undefined) throw new Error("The insert returned no row");
    const resource = { kind: "notification_channel", id };
    await writeAudit(tx, principal, { action: "notification_channel.created", resource });
    return { ...showChannel(row), ...(made === undefined ? {} : { signingKey: made }) };
  });
}

/** The columns of a secret; none where none was given. */
export async function storeSecret(
  { sealer }: NotifyParts,
  channel: { id: string; userId: string },
  secret: string | undefined,
) {
  if (secret === undefined) return {};
  const sealedSecret = await sealer.seal("notify", channelSecretPlace(channel), secret);
  // Of a short key nothing is shown: four letters could be most of it.
  return { sealedSecret, last4: secret.length >= 12 ? secret.slice(-4) : "" };
}

async function refuseTooMany(tx: Transaction, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('slipway.channels.' || ${userId}, 0))`);
  const count = await tx.$count(
    notificationChannels,
    and(eq(notificationChannels.userId, userId), isNull(notificationChannels.deletedAt)),
  );
  if (count < limits.channelsMost) return;
  throw new Refusal(
    "conflict",
    "too_many_channels",
    `You have ${limits.channelsMost} channels already; delete one first.`,
  );
}
