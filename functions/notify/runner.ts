/**
 * What works behind the routes: tells alerts, and sends deliveries of many channels at once, one a channel. It hears of
 * work by NOTIFY and looks by itself every 5 s; both are hints, the rows decide. A receiver that hangs holds up its own
 * channel and nobody else.
 */

import type { Listener } from "../../shared/db/database.ts";
import { alertsChannel } from "../../shared/db/raise-alert.ts";
import { limits } from "../../shared/domain/limits.ts";
import { type DeliverParts, deliver } from "./deliver.ts";
import { fanOut } from "./fan-out.ts";
import { endChannelLeases, isAnythingOpen, suppressUnwanted, takeDue } from "./store.ts";

export interface NotifyRunner {
  /** `alone`: no other process works on this database, so that what a killed one was sending goes on at once. */
  start(listener: Listener, alone: boolean): void;
  /** All that is due now, to its end. */
  pass(): Promise<void>;
  /** Starts nothing more and waits for what is on its way, as long as one delivery may take. */
  stop(): Promise<void>;
}

export function createNotifyRunner(parts: DeliverParts): NotifyRunner {
  const { db, clock, log } = parts;
  const sending = new Set<Promise<void>>();
  const stopping = new AbortController();
  let looping: Promise<void> = Promise.resolve();
  let sweptMs = 0;
  let woken = Promise.withResolvers<void>();

  const wake = () => woken.resolve();

  /** Fills the room there is. Answers whether anything was begun. */
  const turn = async (): Promise<boolean> => {
    const told = await fanOut({ db, log, nowMs: clock.nowMs() });
    const room = limits.sendsAtOnce - sending.size;
    const taken = room > 0 ? await takeDue(db, room, clock.nowMs()) : [];
    for (const each of taken) {
      const sent = deliver(parts, each)
        .catch((error: unknown) => log.warn({ error }, "an outcome was not written; its lease runs out"))
        .finally(() => {
          sending.delete(sent);
          wake();
        });
      sending.add(sent);
    }
    return told > 0 || taken.length > 0;
  };

  const work = async () => {
    while (await turn()) if (sending.size >= limits.sendsAtOnce) break;
    if (clock.nowMs() - sweptMs < limits.notifySweepMs) return;
    await suppressUnwanted(db, clock.nowMs());
    sweptMs = clock.nowMs();
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      woken = Promise.withResolvers<void>();
      try {
        if (await isAnythingOpen(db)) await work();
      } catch (error) {
        log.warn({ error }, "sending notifications failed; the next look tries again");
      }
      await rest();
    }
  };

  const rest = async () => {
    const waited = new AbortController();
    const slept = clock.sleep(limits.notifySweepMs, waited.signal).catch(() => undefined);
    await Promise.race([woken.promise, slept]);
    waited.abort();
  };

  return {
    start: (listener, alone) => {
      listener.listen(alertsChannel, wake, stopping.signal);
      looping = (alone ? endChannelLeases(db) : Promise.resolve())
        .catch((error: unknown) => log.warn({ error }, "old leases run out by themselves"))
        .then(loop);
    },
    pass: async () => {
      await suppressUnwanted(db, clock.nowMs());
      while ((await turn()) || sending.size > 0) await Promise.all(sending);
    },
    stop: async () => {
      stopping.abort();
      wake();
      await looping;
      const late = new AbortController();
      const deadline = clock.sleep(limits.sendMs, late.signal).catch(() => undefined);
      await Promise.race([Promise.all(sending), deadline]);
      late.abort();
    },
  };
}
