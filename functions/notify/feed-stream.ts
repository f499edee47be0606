/**
 * The feed as a stream: what is new or changed since the last look, and how much is unseen. NOTIFY says when to look,
 * a slow question finds what it missed. Revisions are handed out before their transaction commits, so that a lower one
 * may show up late: each look therefore goes back a little, and skips what was sent.
 */
import type { Listener } from "../../shared/db/database.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { StreamEvent } from "../../shared/http/event-stream.ts";
import { changedSince, countUnseen, newestRevision, showDelivery } from "./deliveries.ts";
import { feedChannel } from "./feed-channel.ts";
import type { NotifyParts } from "./parts.ts";

export interface FeedHub {
  /** Resolves when the feed of this person may have changed, or after a while. */
  changed(userId: string, signal: AbortSignal): Promise<void>;
}

export function createFeedHub(listener: Listener, { clock }: NotifyParts, signal: AbortSignal): FeedHub {
  const waiting = new Map<string, Set<() => void>>();
  listener.listen(
    feedChannel,
    (userId) => {
      const sets = userId === null ? [...waiting.values()] : [waiting.get(userId)];
      for (const wakes of sets) for (const wake of wakes ?? []) wake();
    },
    signal,
  );
  return {
    async changed(userId, until) {
      const woken = Promise.withResolvers<void>();
      const wakes = waiting.get(userId) ?? new Set();
      waiting.set(userId, wakes.add(woken.resolve));
      const waited = new AbortController();
      const late = AbortSignal.any([until, waited.signal]);
      const slept = clock.sleep(limits.feedPollMs, late).catch(() => undefined);
      await Promise.race([woken.promise, slept]);
      waited.abort();
      wakes.delete(woken.resolve);
      if (wakes.size === 0) waiting.delete(userId);
    },
  };
}

/** More than one insert of the fan-out hands out. */
const overlap = 2_000;
const pageRows = overlap + 500;

export async function* followFeed(
  parts: NotifyParts,
  hub: FeedHub,
  principal: Principal,
  since: number,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent[]> {
  const first = since > 0 ? since : await newestRevision(parts.db, principal);
  /** Sent, or there before: delivery and revision. */
  const sent = new Map<string, number>();
  for (const row of await changedSince(parts.db, principal, first - overlap, pageRows)) {
    if (row.revision <= first) sent.set(row.id, row.revision);
  }
  let position = first;
  let unseen = -1;
  while (!signal.aborted) {
    const wait = hub.changed(principal.userId, signal);
    const rows = await changedSince(parts.db, principal, position - overlap, pageRows);
    const news = rows.filter(({ id, revision }) => sent.get(id) !== revision);
    for (const { id, revision } of news) {
      sent.set(id, revision);
      position = Math.max(position, revision);
    }
    for (const [id, revision] of sent) if (revision <= position - overlap) sent.delete(id);
    const count = await countUnseen(parts.db, principal);
    const events: StreamEvent[] = news.map((row) => ({
      id: row.revision,
      event: "delivery",
      data: showDelivery(row, parts.baseUrl),
    }));
    if (count !== unseen) events.push({ event: "unseen_count", data: { count } });
    unseen = count;
    if (events.length > 0) yield events;
    if (rows.length < pageRows) await wait;
  }
}
