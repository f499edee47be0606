/**
 * How a deployment moves (decisions.md section 4). A final status never changes. `partial_failure`, `rejected` and
 * `skipped` belong to projects with several services and join the table with them.
 */
import type { StateTable } from "../../shared/operations/definition.ts";

export type DeploymentState = "queued" | "building" | "deploying" | "ready" | "failed" | "cancelled";

export type DeploymentEvent =
  | "start" // the snapshot is taken; the source is fetched and built
  | "release" // there is an image; its container starts
  | "live" // the proxy has switched
  | "fail"
  | "cancel"
  | "supersede"; // a newer one waits

export const deploymentStates: StateTable<DeploymentState, DeploymentEvent> = {
  queued: { start: "building", fail: "failed", cancel: "cancelled", supersede: "cancelled" },
  building: { release: "deploying", fail: "failed", cancel: "cancelled" },
  deploying: { live: "ready", fail: "failed", cancel: "cancelled" },
  ready: {},
  failed: {},
  cancelled: {},
};

export const finalDeploymentStates: ReadonlySet<DeploymentState> = new Set(["ready", "failed", "cancelled"]);

export type CleanUpState = "queued" | "cleaning" | "done" | "failed" | "cancelled";
export type CleanUpEvent = "start" | "finish" | "fail" | "cancel";

export const cleanUpStates: StateTable<CleanUpState, CleanUpEvent> = {
  queued: { start: "cleaning", fail: "failed", cancel: "cancelled" },
  cleaning: { finish: "done", fail: "failed", cancel: "cancelled" },
  done: {},
  failed: {},
  cancelled: {},
};

export const finalCleanUpStates: ReadonlySet<CleanUpState> = new Set(["done", "failed", "cancelled"]);
