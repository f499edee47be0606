/** The organizations that the caller's credential belongs to: a token has exactly one. */
import { eq } from "drizzle-orm";
import type { Queryable } from "../../shared/db/database.ts";
import { organizations } from "../../shared/db/schema.ts";
import type { Principal } from "../../shared/domain/principal.ts";

export async function listOrganizations(
  db: Queryable,
  principal: Principal,
  page: { cursor?: string | undefined },
) {
  const rows = await db
    .select({ id: organizations.id, name: organizations.name, createdAt: organizations.createdAt })
    .from(organizations)
    .where(eq(organizations.id, principal.organizationId));
  const behind = rows.filter((row) => page.cursor === undefined || row.id < page.cursor);
  return {
    data: behind.map((row) => ({ ...row, role: principal.role, createdAt: row.createdAt.toISOString() })),
    nextCursor: null,
  };
}
