/** One delivery in full. Neither its signature nor its body is handed out: from both a weak secret could be guessed. */
import { createHash } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import { and, desc, eq } from "drizzle-orm";
import type { webhookDeliveryDetail } from "../../../shared/contract/deliveries.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { seenProjects } from "../../../shared/db/narrowing.ts";
import { operations } from "../../../shared/db/operation-tables.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import type { DeploymentStatus } from "../../../shared/domain/deployment.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { viewPayload } from "./payload-view.ts";
import { type DeliveryRow, deliveryBody, deliveryRow, namesOfProjects } from "./rows.ts";
import { shapeDelivery } from "./shape.ts";

export type DeliveryDetail = z.infer<typeof webhookDeliveryDetail>;

export async function showDelivery(db: Queryable, principal: Principal, id: string): Promise<DeliveryDetail> {
  const row = await deliveryRow(db, principal, id);
  const body = await deliveryBody(db, id);
  const names = await namesOfProjects(
    db,
    principal,
    row.outcomes.map(({ projectId }) => projectId),
  );
  const { "x-hub-signature-256": _, ...headers } = row.headers;
  return {
    ...shapeDelivery(row, names),
    headers,
    nextAttemptAt: nextAttempt(row)?.toISOString() ?? null,
    body: { bytes: body.length, sha256: createHash("sha256").update(body).digest("hex") },
    payload: viewPayload(body),
    deployments: await startedBy(db, principal, id),
  };
}

/** `lease_until` of a failed row is the time of its next try. */
function nextAttempt({ status, attempts, leaseUntil }: DeliveryRow): Date | null {
  return status === "failed" && attempts < limits.deliveryAttempts ? leaseUntil : null;
}

async function startedBy(db: Queryable, principal: Principal, deliveryId: string) {
  const rows = await db
    .select({
      id: deployments.id,
      projectId: deployments.projectId,
      status: operations.state,
      createdAt: deployments.createdAt,
    })
    .from(deployments)
    .innerJoin(operations, eq(operations.id, deployments.id))
    .innerJoin(projects, eq(projects.id, deployments.projectId))
    .where(
      and(
        eq(deployments.deliveryId, deliveryId),
        eq(deployments.organizationId, principal.organizationId),
        seenProjects(principal),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(limits.deliveriesMost);
  return rows.map(({ status, createdAt, ...row }) => ({
    ...row,
    status: status as DeploymentStatus,
    createdAt: createdAt.toISOString(),
  }));
}
