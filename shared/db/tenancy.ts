/**
 * The one door to rows of organizations: `load` answers the row or 404, and says the same for absent, deleted and
 * foreign. Ids in bodies go through it too. `admit` is the check that a credential still holds, on every request:
 * revocation therefore works at once, whatever the edge has cached.
 */
import { and, eq, gt, isNotNull, isNull, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { isId } from "../domain/identifier.ts";
import { limits } from "../domain/limits.ts";
import { permissionsOf } from "../domain/permission.ts";
import type { Identity, Principal } from "../domain/principal.ts";
import { notFound, Refusal } from "../domain/refusal.ts";
import { builtOnce, unnamed } from "./built-once.ts";
import { gitConnections, registries } from "./connection-tables.ts";
import type { Queryable } from "./database.ts";
import { deployments, uploadSessions } from "./deployment-tables.ts";
import { memberships, organizations, sessions, tokens } from "./identity-tables.ts";
import { inBatches } from "./in-batches.ts";
import { seenProjects, seenServers, seenTokens } from "./narrowing.ts";
import { projects } from "./project-tables.ts";
import { servers } from "./server-tables.ts";

export async function admit(db: Queryable, identity: Identity): Promise<Principal> {
  const isSession = isId("session", identity.credentialId);
  const row = await (isSession ? sessionNow(db, identity) : tokensNow(db)(identity));
  if (row === undefined) {
    throw new Refusal("unauthenticated", "unauthenticated", "This credential does not hold any more.");
  }
  const said = new Set(identity.permissions);
  const holds = permissionsOf(row.role, row.permissions);
  const permissions = new Set([...holds].filter((tag) => said.has(tag)));
  return { ...identity, role: row.role, permissions, projectIds: row.projectIds, serverIds: row.serverIds };
}

async function sessionNow(db: Queryable, identity: Identity) {
  const [row] = await db
    .select({ role: memberships.role })
    .from(sessions)
    .innerJoin(memberships, eq(memberships.userId, sessions.userId))
    .where(
      and(
        eq(sessions.id, identity.credentialId),
        eq(sessions.userId, identity.userId),
        eq(memberships.organizationId, identity.organizationId),
        isNull(sessions.revokedAt),
        gt(sessions.expiresAt, sql`now()`),
      ),
    );
  return row === undefined ? undefined : { ...row, permissions: null, projectIds: null, serverIds: null };
}

/** Those who ask at the same moment share one statement; none of them one that had begun before they came. */
const tokensNow = builtOnce((db) => {
  const statement = db
    .select({
      id: tokens.id,
      organizationId: tokens.organizationId,
      userId: tokens.userId,
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
        sql`${tokens.id} = any(${sql.placeholder("ids")}::text[])`,
        isNull(tokens.revokedAt),
        or(isNull(tokens.expiresAt), gt(tokens.expiresAt, sql`now()`)),
      ),
    )
    .prepare(unnamed);
  return inBatches(async (identities: readonly Identity[]) => {
    const rows = await statement.execute({
      ids: [...new Set(identities.map((each) => each.credentialId))],
    });
    return identities.map(({ credentialId, organizationId, userId }) =>
      rows.find(
        (row) => row.id === credentialId && row.organizationId === organizationId && row.userId === userId,
      ),
    );
  }, limits.admittedAtOnce);
});

/** As `seenProjects` narrows it. */
const projectSeen = builtOnce((db) =>
  db
    .select()
    .from(projects)
    .where(
      and(
        eq(projects.id, sql.placeholder("id")),
        eq(projects.organizationId, sql.placeholder("organizationId")),
        isNull(projects.deletedAt),
        oneOf(projects.id, sql.placeholder("projectIds")),
        oneOf(projects.serverId, sql.placeholder("serverIds")),
      ),
    )
    .prepare(unnamed),
);

/** Null narrows nothing. */
function oneOf(column: PgColumn, ids: Placeholder): SQL {
  return sql`(${ids}::text[] is null or ${column} = any(${ids}::text[]))`;
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
        and(
          eq(tokens.id, id),
          eq(tokens.organizationId, principal.organizationId),
          isNull(tokens.revokedAt),
          seenTokens(principal),
        ),
      );
    return row;
  },
  server: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select()
      .from(servers)
      .where(
        and(
          eq(servers.id, id),
          eq(servers.organizationId, principal.organizationId),
          isNull(servers.deletedAt),
          seenServers(principal),
        ),
      );
    return row;
  },
  project: async (db: Queryable, principal: Principal, id: string) => {
    const { organizationId, projectIds, serverIds } = principal;
    const [row] = await projectSeen(db).execute({ id, organizationId, projectIds, serverIds });
    return row;
  },
  gitConnection: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select()
      .from(gitConnections)
      .where(
        and(
          eq(gitConnections.id, id),
          eq(gitConnections.organizationId, principal.organizationId),
          isNull(gitConnections.deletedAt),
        ),
      );
    return row;
  },
  registry: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select()
      .from(registries)
      .where(
        and(
          eq(registries.id, id),
          eq(registries.organizationId, principal.organizationId),
          isNull(registries.deletedAt),
        ),
      );
    return row;
  },
  deployment: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select({ deployment: deployments })
      .from(deployments)
      .innerJoin(projects, eq(projects.id, deployments.projectId))
      .where(
        and(
          eq(deployments.id, id),
          eq(deployments.organizationId, principal.organizationId),
          seenProjects(principal),
        ),
      );
    return row?.deployment;
  },
  /** One of a project is there for who sees the project. */
  uploadSession: async (db: Queryable, principal: Principal, id: string) => {
    const [row] = await db
      .select({ session: uploadSessions })
      .from(uploadSessions)
      .leftJoin(projects, eq(projects.id, uploadSessions.projectId))
      .where(
        and(
          eq(uploadSessions.id, id),
          eq(uploadSessions.organizationId, principal.organizationId),
          or(
            and(isNull(uploadSessions.projectId), ownIfNarrowed(principal)),
            and(isNotNull(uploadSessions.projectId), seenProjects(principal)),
          ),
        ),
      );
    return row?.session;
  },
};

/** Of no project: a narrowed token takes what its own user sends, and nothing of anybody else. */
function ownIfNarrowed(principal: Principal): SQL | undefined {
  const isNarrowed = principal.projectIds !== null || principal.serverIds !== null;
  return isNarrowed ? eq(uploadSessions.createdBy, principal.userId) : undefined;
}

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
