/**
 * Deliveries of an organization as far as a caller sees them. A narrowed token sees those that touch its projects, and
 * of these only its own projects' outcomes. Bodies are read one at a time: they are up to 5 MiB each.
 */
import { and, desc, eq, getTableColumns, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../../shared/db/database.ts";
import { webhookDeliveries } from "../../../shared/db/delivery-tables.ts";
import { seenProjects } from "../../../shared/db/narrowing.ts";
import { behindCursor, type PageRequest } from "../../../shared/db/page.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { DeliveryStatus, DeliveryVerdict } from "../../../shared/domain/delivery.ts";
import { firstIdAt } from "../../../shared/domain/identifier.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { notFound } from "../../../shared/domain/refusal.ts";

export interface DeliveryQuery extends PageRequest {
  status?: DeliveryStatus | undefined;
  verdict?: DeliveryVerdict | undefined;
  event?: string | undefined;
  projectId?: string | undefined;
  repository?: string | undefined;
  branch?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

const { body: _, ...columns } = getTableColumns(webhookDeliveries);

export type DeliveryRow = Awaited<ReturnType<typeof deliveryRows>>[number];

/** One row more than a page. */
export function deliveryRows(db: Queryable, principal: Principal, query: DeliveryQuery) {
  const { status, verdict, event, projectId, repository, branch, from, to } = query;
  const row = webhookDeliveries;
  return db
    .select(columns)
    .from(row)
    .where(
      and(
        seenDeliveries(principal),
        behindCursor(row.id, query),
        given(status, (value) => eq(row.status, value)),
        given(verdict, (value) => eq(row.verdict, value)),
        given(event, (value) => eq(row.event, value)),
        given(projectId, (value) => sql`${row.outcomes} @> ${JSON.stringify([{ projectId: value }])}::jsonb`),
        given(repository, (value) => eq(row.repository, value)),
        given(branch, (value) => eq(row.branch, value)),
        // Ids begin with the time at which they were made.
        given(from, (value) => gte(row.id, firstIdAt("delivery", Date.parse(value)))),
        given(to, (value) => lt(row.id, firstIdAt("delivery", Date.parse(value)))),
      ),
    )
    .orderBy(desc(row.id))
    .limit(query.limit + 1);
}

function given<T>(value: T | undefined, condition: (value: T) => SQL): SQL | undefined {
  return value === undefined ? undefined : condition(value);
}

/** Throws the 404 of what is absent or of somebody else. */
export async function deliveryRow(db: Queryable, principal: Principal, id: string): Promise<DeliveryRow> {
  const [row] = await db
    .select(columns)
    .from(webhookDeliveries)
    .where(and(eq(webhookDeliveries.id, id), seenDeliveries(principal)));
  if (row === undefined) throw notFound();
  return row;
}

/** Of a delivery that the caller sees. */
export async function deliveryBody(db: Queryable, id: string): Promise<Uint8Array> {
  const [row] = await db
    .select({ body: webhookDeliveries.body })
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, id));
  if (row === undefined) throw notFound();
  return row.body;
}

function seenDeliveries(principal: Principal): SQL | undefined {
  const { organizationId, outcomes, repository } = webhookDeliveries;
  const own = eq(organizationId, principal.organizationId);
  if (principal.projectIds === null && principal.serverIds === null) return own;
  // What was ignored before projects were looked at (a ping) touches those of its repository.
  const touched = sql`exists (select from ${projects}
    where ${projects.organizationId} = ${principal.organizationId} and ${seenProjects(principal)}
      and (${outcomes} @> jsonb_build_array(jsonb_build_object('projectId', ${projects.id}))
        or (${outcomes} = '[]'::jsonb and ${projects.repository} = ${repository})))`;
  return and(own, touched);
}

/** Names of those of `ids` that the caller sees, deleted ones included: the inbox tells what was. */
export async function namesOfProjects(
  db: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, principal.organizationId),
        inArray(projects.id, [...new Set(ids)]),
        seenProjects(principal),
      ),
    );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
