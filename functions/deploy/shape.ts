/** A deployment as the API shows it. Secrets are not among the columns it is made from. */
import type { z } from "@hono/zod-openapi";
import type { deployment } from "../../shared/contract/deployments.ts";
import type { DeploymentStatus } from "../../shared/domain/deployment.ts";
import { phasesOf } from "./pipeline/phases.ts";
import type { DeploymentView } from "./store.ts";

export type DeploymentAnswer = z.infer<typeof deployment>;

export function shape(view: DeploymentView): DeploymentAnswer {
  return {
    id: view.id,
    projectId: view.projectId,
    status: view.status as DeploymentStatus,
    decision: "none",
    trigger: view.trigger,
    branch: view.branch,
    commitSha: view.commitSha,
    commitMessage: view.commitMessage,
    urls: view.urls,
    isActive: view.activeDeploymentId === view.id,
    pinned: view.pinned,
    artifact: view.artifact,
    mode: view.mode,
    createdAt: view.createdAt.toISOString(),
    startedAt: view.startedAt?.toISOString() ?? null,
    finishedAt: view.finishedAt?.toISOString() ?? null,
    phases: phasesOf(view.progress),
    error: view.error ?? null,
    rollbackOf: view.rollbackOf,
    deliveryId: view.deliveryId,
    createdBy: view.createdBy,
  };
}
