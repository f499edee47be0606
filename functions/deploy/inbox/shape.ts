/** A delivery as the API shows it. */
import type { z } from "@hono/zod-openapi";
import type { webhookDelivery } from "../../../shared/contract/deliveries.ts";
import { explainReason } from "../../../shared/domain/delivery.ts";
import type { DeliveryRow } from "./rows.ts";

type DeliveryAnswer = z.infer<typeof webhookDelivery>;

/** `names`: of the projects that the caller sees; outcomes of others are left out. */
export function shapeDelivery(row: DeliveryRow, names: ReadonlyMap<string, string>): DeliveryAnswer {
  const { id, provider, deliveryId, event, repository, branch, commitSha, status, verdict, attempts } = row;
  const projects = row.outcomes.flatMap((outcome) => {
    const { projectId } = outcome;
    const name = names.get(projectId);
    if (name === undefined) return [];
    const deploymentId = outcome.verdict === "deployed" ? outcome.deploymentId : null;
    const why = because(outcome.verdict === "skipped" ? outcome.reason : null);
    return [{ projectId, name, verdict: outcome.verdict, ...why, deploymentId }];
  });
  return {
    ...{ id, provider, deliveryId, event, repository, branch, commitSha, status, verdict, attempts },
    ...because(row.reason),
    projects,
    replay: row.replay === null ? null : { by: row.replay.by, at: row.replay.at, force: row.replay.force },
    receivedAt: row.receivedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}

function because(reason: string | null) {
  return { reason, message: reason === null ? null : explainReason(reason) };
}
