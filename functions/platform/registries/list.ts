/** Registries of the organization, newest first. */
import { and, desc, eq, isNull } from "drizzle-orm";
import { registries } from "../../../shared/db/connection-tables.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { behindCursor, type PageRequest, toPage } from "../../../shared/db/page.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { showRegistry } from "./show.ts";

export async function listRegistries(db: Queryable, principal: Principal, page: PageRequest) {
  const rows = await db
    .select()
    .from(registries)
    .where(
      and(
        eq(registries.organizationId, principal.organizationId),
        isNull(registries.deletedAt),
        behindCursor(registries.id, page),
      ),
    )
    .orderBy(desc(registries.id))
    .limit(page.limit + 1);
  return toPage(rows, page, showRegistry);
}
