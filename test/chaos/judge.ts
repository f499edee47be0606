/**
 * What must hold when the storm is over, exactly: accepted deliveries = committed rows = deployments of distinct pushes.
 * Answers every breach as a sentence.
 */
import { sql } from "drizzle-orm";
import type { Database } from "../../shared/db/database.ts";
import { rowsOf } from "../../shared/operations/statements.ts";
import { until } from "../faults/until.ts";
import type { Delivery } from "./git-host.ts";

export interface Judged {
  deliveries: number;
  rows: number;
  deployments: number;
  breaches: string[];
}

/** A claim whose owner was killed runs out after 30 s, and the sweep comes every 30 s. */
const settledMs = 180_000;
/** A deployment whose owner was killed waits for its lease, and each after it for the one before. */
const endedMs = 180_000;

export async function judge(db: Database, deliveries: readonly Delivery[]): Promise<Judged> {
  await until(() => openRows(db), [], settledMs, 500);
  await until(() => openOperations(db), 0, endedMs, 500);
  const rows = await rowsOf<DeliveryRow>(
    db,
    sql`select delivery_id as "deliveryId", organization_id as "organizationId", status, reason from webhook_deliveries`,
  );
  const made = await rowsOf<DeploymentRow>(
    db,
    sql`
      select project_id as "projectId", deployments.commit_sha as "commitSha", delivery.delivery_id as "deliveryId", operation.state
      from deployments
      left join webhook_deliveries as delivery on delivery.id = deployments.delivery_id
      left join operations as operation on operation.id = deployments.id`,
  );
  const breaches = [
    ...unequal("row", wantedRows(deliveries), rows.map(nameOfRow)),
    ...unequal("deployment", wantedDeployments(deliveries), made.map(nameOfDeployment)),
    ...made.filter(({ state }) => state === null).map((each) => `no operation: ${nameOfDeployment(each)}`),
  ];
  return { deliveries: deliveries.length, rows: rows.length, deployments: made.length, breaches };
}

interface DeliveryRow {
  deliveryId: string;
  organizationId: string | null;
  status: string;
  reason: string | null;
}

interface DeploymentRow {
  projectId: string;
  commitSha: string;
  deliveryId: string | null;
  state: string | null;
}

const nameOfRow = ({ deliveryId, organizationId, status, reason }: DeliveryRow) =>
  `${deliveryId} of ${organizationId}: ${status}, ${reason}`;
const nameOfDeployment = ({ projectId, commitSha, deliveryId }: DeploymentRow) =>
  `${projectId} at ${commitSha} by ${deliveryId}`;

function wantedRows(deliveries: readonly Delivery[]): string[] {
  return deliveries.flatMap(({ id: deliveryId, deploys, repository }) =>
    repository.projects.map(({ organizationId }) =>
      nameOfRow({
        ...{ deliveryId, organizationId },
        ...(deploys
          ? { status: "done", reason: null }
          : { status: "ignored", reason: "no_matching_project" }),
      }),
    ),
  );
}

function wantedDeployments(deliveries: readonly Delivery[]): string[] {
  return deliveries
    .filter(({ deploys }) => deploys)
    .flatMap(({ id: deliveryId, after: commitSha, repository }) =>
      repository.projects.map(({ id: projectId }) =>
        nameOfDeployment({ projectId, commitSha, deliveryId, state: null }),
      ),
    );
}

/** As collections: what is missing, what nobody asked for, and what is there twice. */
function unequal(what: string, wanted: readonly string[], found: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const each of wanted) left.set(each, (left.get(each) ?? 0) + 1);
  for (const each of found) left.set(each, (left.get(each) ?? 0) - 1);
  return [...left].flatMap(([each, count]) => {
    if (count === 0) return [];
    return [`${what} ${count > 0 ? "missing" : "too many"}: ${each}`];
  });
}

function openRows(db: Database) {
  return rowsOf(
    db,
    sql`
      select status, reason, count(*)::int as count from webhook_deliveries
      where status not in ('done', 'ignored') group by status, reason`,
  );
}

async function openOperations(db: Database): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    db,
    sql`select count(*)::int as count from operations where not final`,
  );
  return row?.count ?? 0;
}
