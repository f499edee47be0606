/** How a bootstrap moves. Everything it does can be done twice, so there is nothing to put back. */
import type { StateTable } from "../../../shared/operations/definition.ts";

export type BootstrapState = "queued" | "running" | "ready" | "failed" | "cancelled";
export type BootstrapEvent = "start" | "finish" | "fail" | "cancel";

/** `kind` of the operation. */
export const bootstrapKindName = "server_bootstrap";

export const bootstrapStates: StateTable<BootstrapState, BootstrapEvent> = {
  queued: { start: "running", fail: "failed", cancel: "cancelled" },
  running: { finish: "ready", fail: "failed", cancel: "cancelled" },
  ready: {},
  failed: {},
  cancelled: {},
};

export const finalBootstrapStates: ReadonlySet<BootstrapState> = new Set(["ready", "failed", "cancelled"]);
