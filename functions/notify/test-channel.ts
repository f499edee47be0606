/**
 * Sends a test for real and answers what the far side said. A good answer verifies the channel, unless its config was
 * changed while the test was on its way: then another place has answered.
 */
import { and, eq } from "drizzle-orm";
import { notificationChannels, notificationDeliveries } from "../../shared/db/notification-tables.ts";
import { newId } from "../../shared/domain/identifier.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { channelSecretPlace } from "../../shared/domain/sealed-place.ts";
import type { Message, Outcome } from "./channels/outcome.ts";
import { tellFeeds } from "./feed-channel.ts";
import { loadChannel, refuseWider } from "./load-channel.ts";
import type { NotifyParts } from "./parts.ts";
import type { ChannelRow } from "./show-channel.ts";

const minuteMs = 60_000;

export async function testChannel(parts: NotifyParts, principal: Principal, id: string) {
  const channel = await loadChannel(parts.db, principal, id);
  refuseWider(principal, channel);
  await countTest(parts, principal.userId);
  const message = testMessage(principal, channel, parts);
  const outcome =
    channel.kind === "in_app"
      ? await putIntoFeed(parts, channel, message)
      : await parts.senders[channel.kind](await opened(parts, channel), message, parts.clock.nowMs());
  const ok = outcome.result === "delivered";
  const verified = ok ? await verify(parts, channel) : channel.verified;
  const { code, error, status, response } = outcome;
  return {
    ok,
    ...(code === null ? {} : { code }),
    ...(error === null ? {} : { error }),
    status,
    response,
    verified,
  };
}

async function countTest({ limiter }: NotifyParts, userId: string): Promise<void> {
  const rule = { limit: limits.channelTestsPerMinute, windowMs: minuteMs };
  const { allowed, resetMs } = await limiter.take(`channel-test:${userId}`, rule);
  if (allowed) return;
  throw new Refusal("rate_limited", "rate_limited", "Too many tests of channels; wait a moment.", {
    retryAfterSeconds: Math.ceil(resetMs / 1000),
  });
}

function testMessage(principal: Principal, { id, label }: ChannelRow, { clock }: NotifyParts): Message {
  return {
    id: newId("notificationDelivery"),
    organizationId: principal.organizationId,
    category: "channel.test",
    severity: "info",
    title: "Test notification from Slipway",
    message: `This is a test of the channel "${label}". Alerts will look like this one.`,
    link: null,
    resource: { type: "channel", id },
    count: 1,
    createdAt: new Date(clock.nowMs()).toISOString(),
  };
}

async function opened({ sealer }: NotifyParts, channel: ChannelRow) {
  const { config, sealedSecret } = channel;
  if (sealedSecret === null) return { config, secret: null };
  return { config, secret: await sealer.open("notify", channelSecretPlace(channel), sealedSecret) };
}

async function putIntoFeed({ db }: NotifyParts, channel: ChannelRow, message: Message): Promise<Outcome> {
  const { resource, createdAt, ...said } = message;
  const at = new Date(createdAt);
  await db.transaction(async (tx) => {
    await tx.insert(notificationDeliveries).values({
      ...said,
      ...{ userId: channel.userId, channelId: channel.id, channelKind: "in_app", status: "sent" },
      ...{ resourceType: resource.type, resourceId: resource.id, createdAt: at, sentAt: at },
    });
    await tellFeeds(tx, [channel.userId]);
  });
  return { result: "delivered", code: null, error: null, status: null, response: null };
}

/** Answers whether the channel is verified now. */
async function verify({ db }: NotifyParts, { id, revision }: ChannelRow): Promise<boolean> {
  const rows = await db
    .update(notificationChannels)
    .set({ verified: true, failures: 0, failingSince: null, blockedUntil: null, lastError: null })
    .where(and(eq(notificationChannels.id, id), eq(notificationChannels.revision, revision)))
    .returning({ id: notificationChannels.id });
  return rows.length > 0;
}
