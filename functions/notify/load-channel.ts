/**
 * The door to channels: the caller's own, or 404 with the same body for absent, deleted and another person's. A narrowed
 * token may not reach through one that tells more than it sees itself.
 */
import { and, eq, isNull } from "drizzle-orm";
import type { Queryable, Transaction } from "../../shared/db/database.ts";
import { notificationChannels } from "../../shared/db/notification-tables.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound, Refusal } from "../../shared/domain/refusal.ts";
import type { ChannelRow } from "./show-channel.ts";

export async function loadChannel(db: Queryable, { userId }: Principal, id: string): Promise<ChannelRow> {
  const [row] = await db.select().from(notificationChannels).where(own(userId, id));
  if (row === undefined) throw notFound();
  return row;
}

/** Until the transaction ends nobody else changes it. */
export async function lockChannel(tx: Transaction, { userId }: Principal, id: string): Promise<ChannelRow> {
  const [row] = await tx.select().from(notificationChannels).where(own(userId, id)).for("no key update");
  if (row === undefined) throw notFound();
  return row;
}

function own(userId: string, id: string) {
  return and(
    eq(notificationChannels.id, id),
    eq(notificationChannels.userId, userId),
    isNull(notificationChannels.deletedAt),
  );
}

/** Pointing a wide channel at a new place would show a narrowed token's holder what the token may not see. */
export function refuseWider(principal: Principal, channel: ChannelRow): void {
  const wider = (["projectIds", "serverIds"] as const).some((by) => {
    const [mine, its] = [principal[by], channel[by]];
    return mine !== null && (its === null || its.some((id) => !mine.includes(id)));
  });
  if (!wider) return;
  throw new Refusal(
    "forbidden",
    "narrowed_token",
    "A narrowed token cannot change where a channel leads that tells more than the token sees.",
  );
}
