/**
 * The one door to rows of organizations: `load` answers the row or 404, and says the same for absent, deleted and
 * foreign. Ids in bodies go through it too. `admit` is the check that a credential still holds, on every request:
 * revocation therefore works at once, whatever the edge has cached.
 */
import { and, eq, gt, isNull, or, sql } from "drizzle-orm";
import { expandPermissions, permissionsOfRole } from "../domain/permission.ts";
import type { Identity, Principal } from "../domain/principal.ts";
import { notFound, Refusal } from "../domain/refusal.ts";
import type { Queryable } from "./database.ts";
import { deployments, memberships, organizations, projects, servers, tokens } from "./schema.ts";

export async function admit(db: Queryable, identity: Identity): Promise<Principal> {
  const [row] = await db
    .select({
      role: memberships.role,
      permissions: tokens.permissions,
      projectIds: tokens.projectIds,
      serverIds: tokens.serverIds,
    })
    .from(tokens)
    .innerJoin(
      memberships,
      and(eq(memberships.organizationId, tokens.organizationId), eq(memberships.userId, tokens.userId)),
    )
    .where(
      and(
        eq(tokens.id, identity.credentialId),
        eq(tokens.organizationId, identity.organizationId),
        eq(tokens.userId, identity.userId),
        isNull(tokens.revokedAt),
        or(isNull(tokens.expiresAt), gt(tokens.expiresAt, sql`now()`)),
      ),
    );
  if (row === undefined) {
    throw new Refusal("unauthenticated", "unauthenticated", "This credential does not hold any more.");
  }
  const ofRole = permissionsOfRole(row.role);
  const ofToken = row.permissions === null ? ofRole : expandPermissions(row.permissions);
  const said = new Set(identity.permissions);
  const permissions = new Set([...ofRole].filter((tag) => ofToken.has(tag) && said.has(tag)));
  return { ...identity, role: row.role, permissions, projectIds: row.projectIds, serverIds: row.serverIds };
}

const doors = {
  organization: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select()
      .from(organizations)
      .where(and(eq(organizations.id, id), eq(organizations.id, principal.organizationId)));
    return row;
  },
  token: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select()
      .from(tokens)
      .where(
        and(eq(tokens.id, id), eq(tokens.organizationId, principal.organizationId), isNull(tokens.revokedAt)),
      );
    return row;
  },
  server: async (db: Queryable, principal: Principal, id: string) => {
    if (!within(principal.serverIds, id)) return undefined;
    const [row] = await db
      .select()
      .from(servers)
      .where(
        and(
          eq(servers.id, id),
          eq(servers.organizationId, principal.organizationId),
          isNull(servers.deletedAt),
        ),
      );
    return row;
  },
  project: async (db: Queryable, principal: Principal, id: string) => {
    if (!within(principal.projectIds, id)) return undefined;
    const [row] = await db
      .select()
      .from(projects)
      .where(
        and(
          eq(projects.id, id),
          eq(projects.organizationId, principal.organizationId),
          isNull(projects.deletedAt),
        ),
      );
    return row;
  },
  deployment: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select()
      .from(deployments)
      .where(and(eq(deployments.id, id), eq(deployments.organizationId, principal.organizationId)));
    return row !== undefined && within(principal.projectIds, row.projectId) ? row : undefined;
  },
};

type Doors = typeof doors;
export type Loaded<K extends keyof Doors> = NonNullable<Awaited<ReturnType<Doors[K]>>>;

export async function load<K extends keyof Doors>(
  db: Queryable,
  principal: Principal,
  kind: K,
  id: string,
): Promise<Loaded<K>> {
  const row = await doors[kind](db, principal, id);
  if (row === undefined) throw notFound();
  return row as Loaded<K>;
}

function within(narrowedTo: string[] | null, id: string): boolean {
  return narrowedTo === null || narrowedTo.includes(id);
}
