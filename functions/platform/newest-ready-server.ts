/** The server that takes what names none: the newest that is bootstrapped, of those that the caller sees. */
import { and, desc, eq, isNotNull, isNull } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { seenServers } from "../../shared/db/narrowing.ts";
import { servers } from "../../shared/db/server-tables.ts";
import type { ServerRow } from "../../shared/db/server-target.ts";
import type { Principal } from "../../shared/domain/principal.ts";

export async function newestReadyServer(db: Queryable, principal: Principal): Promise<ServerRow | undefined> {
  const [newest] = await db
    .select()
    .from(servers)
    .where(
      and(
        eq(servers.organizationId, principal.organizationId),
        isNull(servers.deletedAt),
        isNotNull(servers.bootstrappedAt),
        seenServers(principal),
      ),
    )
    .orderBy(desc(servers.id))
    .limit(1);
  return newest;
}
