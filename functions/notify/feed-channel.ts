/** NOTIFY of the feed: whose feed has changed. A hint only; open streams then ask the database. */
import { sql } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";

export const feedChannel = "notify_feed";

export async function tellFeeds(tx: Queryable, userIds: readonly string[]): Promise<void> {
  const unique = [...new Set(userIds)];
  if (unique.length === 0) return;
  await tx.execute(
    sql`select pg_notify(${feedChannel}, id) from unnest(${sql.param(unique)}::text[]) as users(id)`,
  );
}
