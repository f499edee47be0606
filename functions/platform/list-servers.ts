/** The servers that a caller may see, newest first. */
import { and, desc, eq, isNull } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { seenServers } from "../../shared/db/narrowing.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { servers } from "../../shared/db/server-tables.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { showServer } from "./server-row.ts";

export async function listServers(db: Queryable, principal: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(servers)
    .where(
      and(
        eq(servers.organizationId, principal.organizationId),
        isNull(servers.deletedAt),
        seenServers(principal),
        behindCursor(servers.id, page),
      ),
    )
    .orderBy(desc(servers.id))
    .limit(page.limit + 1);
  return toPage(rows, page, showServer);
}
