/**
 * One attempt of one delivery: open the channel's secret, send, and write what became of it. A receiver that is away
 * puts its channel on back-off with this delivery first in line, so that order holds; after a day of that, or when it
 * says that it is gone, the channel is disabled and its owner told in the feed.
 */
import { channelSecretPlace } from "../../shared/domain/sealed-place.ts";
import { isDead, restMs } from "./back-off.ts";
import type { Message, Outcome } from "./channels/outcome.ts";
import type { NotifyParts } from "./parts.ts";
import { settle, type Taken } from "./store.ts";
import { suspendChannel } from "./suspend.ts";

export interface DeliverParts extends NotifyParts {
  /** 0 to 1, for jitter. */
  random: () => number;
}

export async function deliver(parts: DeliverParts, taken: Taken): Promise<void> {
  const outcome = await attempt(parts, taken);
  const { failures, failingSince } = taken.channel;
  const nowMs = parts.clock.nowMs();
  const error = outcome.error;
  if (outcome.result === "delivered" || outcome.result === "refused") {
    const event = outcome.result === "delivered" ? "deliver" : "refuse";
    await settle(parts.db, taken, { event, error, failing: null }, nowMs);
    return;
  }
  const sinceMs = failingSince === null ? nowMs : Date.parse(failingSince);
  if (outcome.result === "gone" || isDead(sinceMs, nowMs)) {
    await suspendChannel(parts.db, taken, error ?? "", nowMs);
    return;
  }
  const rest = restMs(failures + 1, parts.random(), outcome.retryAfterMs);
  const failing = { failures: failures + 1, sinceMs, blockedUntilMs: nowMs + rest };
  await settle(parts.db, taken, { event: "postpone", error, failing }, nowMs);
}

async function attempt(parts: DeliverParts, taken: Taken): Promise<Outcome> {
  const { channel } = taken;
  try {
    const secret =
      channel.sealedSecret === null
        ? null
        : await parts.sealer.open("notify", channelSecretPlace(channel), channel.sealedSecret);
    const target = { config: channel.config, secret };
    return await parts.senders[channel.kind](target, messageOf(taken, parts.baseUrl), parts.clock.nowMs());
  } catch (error) {
    parts.log.error({ error, channelId: channel.id, deliveryId: taken.id }, "a delivery could not be sent");
    const says = "The platform could not send it; its log says why.";
    return { result: "retry", code: "internal", error: says, status: null, response: null };
  }
}

function messageOf(taken: Taken, baseUrl: string): Message {
  const { id, organizationId, category, severity, title, message, count } = taken;
  return {
    ...{ id, organizationId, category, severity, title, message, count },
    link: taken.link === null ? null : `${baseUrl}${taken.link}`,
    resource: { type: taken.resourceType, id: taken.resourceId },
    createdAt: new Date(taken.createdAt).toISOString(),
  };
}
