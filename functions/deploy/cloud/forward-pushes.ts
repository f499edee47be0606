/**
 * Pushes that belong to a promoted project go on to the cloud with their raw bytes and headers: the project has the same
 * hook secret there, so the cloud verifies the signature itself and no credential of ours goes along; the hint says which
 * secret it is. The row of the inbox is the authority; NOTIFY and a look every 30 s are nudges. The cloud drops what comes
 * twice by the delivery's id.
 */
import type { Sealer } from "../../../shared/crypto/seal.ts";
import type { Database, Listener } from "../../../shared/db/database.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { channels } from "../../../shared/operations/channels.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { Log } from "../../../shared/ports/log.ts";
import { type Outgoing, OutgoingFailure } from "../../../shared/ports/outgoing.ts";
import { hintFor } from "./forward-hint.ts";
import { type Forwarded, failForward, linkedUrl, settleForward, takeForwards } from "./forward-store.ts";

export interface ForwardParts {
  db: Database;
  clock: Clock;
  log: Log;
  outgoing: Outgoing;
  /** Holds the ring `webhook`. */
  sealer: Pick<Sealer, "open">;
}

export interface PushForwarder {
  start(listener: Listener): void;
  /** Waits for what is on its way, as long as one push may take. */
  stop(): Promise<void>;
}

export function createPushForwarder(parts: ForwardParts): PushForwarder {
  const { db, clock, log } = parts;
  const stopping = new AbortController();
  let looping: Promise<void> = Promise.resolve();
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();

  const loop = async () => {
    while (!stopping.signal.aborted) {
      woken = Promise.withResolvers<void>();
      try {
        for (let more = true; more && !stopping.signal.aborted; ) {
          const taken = await takeForwards(db);
          await Promise.all(taken.map((each) => forwardOne(parts, each)));
          more = taken.length > 0;
        }
      } catch (error) {
        log.warn({ err: error }, "forwarding pushes failed; the next look tries again");
      }
      await rest();
    }
  };

  const rest = async () => {
    const waited = new AbortController();
    const slept = clock.sleep(limits.deliverySweepMs, waited.signal).catch(() => undefined);
    await Promise.race([woken.promise, slept]);
    waited.abort();
  };

  return {
    start: (listener) => {
      listener.listen(channels.forwards, wake, stopping.signal);
      looping = loop();
    },
    stop: async () => {
      stopping.abort();
      wake();
      await looping;
    },
  };
}

async function forwardOne(parts: ForwardParts, delivery: Forwarded): Promise<void> {
  const { db, log, outgoing } = parts;
  const { id, organizationId, provider, headers, body } = delivery;
  const url = await linkedUrl(db, organizationId);
  if (url === null) return failForward(db, delivery, { reason: "cloud_not_linked", isFinal: false });
  const hookId = await hintFor(parts, delivery);
  const query = hookId === null ? "" : `?hook=${hookId}`;
  try {
    const { status } = await outgoing.send({
      ...{ method: "POST", url: `${url}/api/webhooks/${provider}${query}`, headers, body },
      deadlineMs: limits.deliveryForwardMs,
    });
    const failure = judge(status);
    if (failure === null) await settleForward(db, delivery, url);
    else await failForward(db, delivery, failure);
    log.info({ deliveryRow: id, status }, "a push was forwarded to the cloud");
  } catch (error) {
    if (!(error instanceof OutgoingFailure)) throw error;
    log.info({ deliveryRow: id, err: error }, "the cloud could not be reached with a push");
    await failForward(db, delivery, { reason: "cloud_unreachable", isFinal: false });
  }
}

/** null: the cloud has it for good. It says 200 also for what it stored and could not handle yet. */
function judge(status: number): { reason: string; isFinal: boolean } | null {
  if (status === 200) return null;
  if (status === 401) return { reason: "cloud_refused_signature", isFinal: true };
  const mayPass = status >= 500 || status === 429 || status === 408;
  return { reason: `cloud_answered_${status}`, isFinal: !mayPass };
}
