/** The words of deployments that the contract, the edge and the deploy module share (decisions.md section 4). */
export const deploymentStatuses = [
  "queued",
  "building",
  "deploying",
  "ready",
  "failed",
  "partial_failure",
  "cancelled",
  "rejected",
  "skipped",
] as const;
export type DeploymentStatus = (typeof deploymentStatuses)[number];

export const deploymentTriggers = [
  "manual",
  "push",
  "reconcile",
  "redeploy",
  "rollback",
  "upload",
  "webmail",
  "cli",
] as const;
export type DeploymentTrigger = (typeof deploymentTriggers)[number];

export const deploymentPhases = ["queue", "fetch", "build", "release", "health", "switch"] as const;
export type DeploymentPhase = (typeof deploymentPhases)[number];

export const buildStrategies = ["auto", "dockerfile", "framework", "static"] as const;
export type BuildStrategy = (typeof buildStrategies)[number];

/** Why a deployment ended without success. `hint` says what to do; `logTail` the last lines, already redacted. */
export interface OperationError {
  code: string;
  message: string;
  hint: string | null;
  logTail: string[];
}
