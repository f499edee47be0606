/**
 * What a stored event looks like to clients, the same by stream and by REST: lines carry their seq and time in the data
 * as well, since they are shown and kept apart from their frames.
 */
import type { StoredEvent } from "./definition.ts";

export interface ClientEvent {
  id: number;
  event: string;
  data: Record<string, unknown>;
}

const known = new WeakMap<StoredEvent, ClientEvent>();

/** The same object for the same event, so that what is made of it can be kept. */
function toClientEvent(event: StoredEvent): ClientEvent {
  const before = known.get(event);
  if (before !== undefined) {
    return before;
  }
  const { seq, at, type, data } = event;
  const made = { id: seq, event: type, data: type === "log" ? { seq, at, ...data } : data };
  known.set(event, made);
  return made;
}

/** Pages of a feed as pages of a stream. */
export async function* toClientEvents(
  pages: AsyncIterable<readonly StoredEvent[]>,
): AsyncGenerator<ClientEvent[]> {
  for await (const page of pages) {
    yield page.map(toClientEvent);
  }
}
