/** Channels of the caller, newest first; of a narrowed token's holder as well, since they belong to the person. */
import { and, desc, eq, isNull } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { notificationChannels } from "../../shared/db/notification-tables.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { showChannel } from "./show-channel.ts";

export async function listChannels(db: Queryable, { userId }: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(notificationChannels)
    .where(
      and(
        eq(notificationChannels.userId, userId),
        isNull(notificationChannels.deletedAt),
        behindCursor(notificationChannels.id, page),
      ),
    )
    .orderBy(desc(notificationChannels.id))
    .limit(page.limit + 1);
  return toPage(rows, page, showChannel);
}
