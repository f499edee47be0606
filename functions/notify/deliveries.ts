/**
 * The feed and the sending log of the caller in the active organization. A narrowed token sees what concerns the
 * projects and servers that it sees, as everywhere (shared/db/narrowing.ts).
 */
import { and, asc, desc, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Database, Queryable } from "../../shared/db/database.ts";
import { seenProjects, seenServers } from "../../shared/db/narrowing.ts";
import { notificationDeliveries } from "../../shared/db/notification-tables.ts";
import { behindCursor, type PageRequest, toPage } from "../../shared/db/page.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { servers } from "../../shared/db/server-tables.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound } from "../../shared/domain/refusal.ts";
import { tellFeeds } from "./feed-channel.ts";

type Row = typeof notificationDeliveries.$inferSelect;

const isFed = sql`${notificationDeliveries.channelKind} = 'in_app'`;
const isUnseen = isNull(notificationDeliveries.seenAt);

export async function listDeliveries(
  db: Queryable,
  principal: Principal,
  {
    channel,
    unseen,
    baseUrl,
    ...page
  }: PageRequest & { channel: "in_app" | "all"; unseen: boolean; baseUrl: string },
) {
  const rows = await db
    .select()
    .from(notificationDeliveries)
    .where(
      and(
        theirs(principal),
        channel === "in_app" ? isFed : undefined,
        unseen ? isUnseen : undefined,
        behindCursor(notificationDeliveries.id, page),
      ),
    )
    .orderBy(desc(notificationDeliveries.id))
    .limit(page.limit + 1);
  return toPage(rows, page, (row) => showDelivery(row, baseUrl));
}

export async function countUnseen(db: Queryable, principal: Principal): Promise<number> {
  return db.$count(notificationDeliveries, and(theirs(principal), isFed, isUnseen));
}

/** The first time is kept. */
export async function markSeen(db: Database, principal: Principal, id: string, baseUrl: string) {
  return db.transaction(async (tx) => {
    const mine = and(theirs(principal), eq(notificationDeliveries.id, id));
    const [changed] = await tx
      .update(notificationDeliveries)
      .set({ seenAt: sql`now()`, revision: sql`nextval('feed_revisions')` })
      .where(and(mine, isUnseen))
      .returning();
    const [row] =
      changed === undefined ? await tx.select().from(notificationDeliveries).where(mine) : [changed];
    if (row === undefined) throw notFound();
    if (changed !== undefined) await tellFeeds(tx, [principal.userId]);
    return showDelivery(row, baseUrl);
  });
}

/** What changed in the feed behind a revision, oldest first. */
export async function changedSince(db: Queryable, principal: Principal, since: number, most: number) {
  const rows = await db
    .select()
    .from(notificationDeliveries)
    .where(and(theirs(principal), isFed, sql`${notificationDeliveries.revision} > ${since}`))
    .orderBy(asc(notificationDeliveries.revision))
    .limit(most);
  return rows;
}

/** Of the feed; 0 where it is empty. */
export async function newestRevision(db: Queryable, principal: Principal): Promise<number> {
  const [row] = await db
    .select({ revision: sql<string | null>`max(${notificationDeliveries.revision})` })
    .from(notificationDeliveries)
    .where(and(theirs(principal), isFed));
  return Number(row?.revision ?? 0);
}

function theirs(principal: Principal): SQL | undefined {
  const { userId, organizationId } = notificationDeliveries;
  return and(eq(userId, principal.userId), eq(organizationId, principal.organizationId), seen(principal));
}

function seen(principal: Principal): SQL | undefined {
  if (principal.projectIds === null && principal.serverIds === null) return undefined;
  const { projectId, serverId } = notificationDeliveries;
  return or(
    inArray(projectId, sql`(select ${projects.id} from ${projects} where ${seenProjects(principal)})`),
    and(
      isNull(projectId),
      inArray(serverId, sql`(select ${servers.id} from ${servers} where ${seenServers(principal)})`),
    ),
  );
}

export function showDelivery(row: Row, baseUrl: string) {
  const { id, category, title, message, severity, channelId, channelKind, status, attempts, lastError } = row;
  return {
    ...{ id, category, title, message, severity },
    link: row.link === null ? null : `${baseUrl}${row.link}`,
    resource: { type: row.resourceType, id: row.resourceId },
    ...{ channelId, channelKind, status, attempts, lastError, count: row.count },
    createdAt: row.createdAt.toISOString(),
    sentAt: row.sentAt?.toISOString() ?? null,
    seenAt: row.seenAt?.toISOString() ?? null,
  };
}
