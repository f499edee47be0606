import { expect, it } from "vitest";
import {
  type CleanUpEvent,
  type CleanUpState,
  cleanUpStates,
  type DeploymentEvent,
  type DeploymentState,
  deploymentStates,
  finalCleanUpStates,
  finalDeploymentStates,
} from "../../../functions/deploy/states.ts";
import { next, TransitionRefused } from "../../../shared/operations/state-table.ts";

const events: DeploymentEvent[] = ["start", "release", "live", "fail", "cancel", "supersede"];
const allowed: Record<DeploymentState, Partial<Record<DeploymentEvent, DeploymentState>>> = {
  queued: { start: "building", fail: "failed", cancel: "cancelled", supersede: "cancelled" },
  building: { release: "deploying", fail: "failed", cancel: "cancelled" },
  deploying: { live: "ready", fail: "failed", cancel: "cancelled" },
  ready: {},
  failed: {},
  cancelled: {},
};

it.each(Object.keys(allowed) as DeploymentState[])(
  "a deployment that is %s takes only what the table lists",
  (state) => {
    for (const event of events) {
      const to = allowed[state][event];
      if (to === undefined) expect(() => next(deploymentStates, state, event)).toThrow(TransitionRefused);
      else expect(next(deploymentStates, state, event)).toBe(to);
    }
  },
);

it("a final status never changes", () => {
  for (const state of finalDeploymentStates as ReadonlySet<DeploymentState>)
    expect(deploymentStates[state]).toEqual({});
  for (const state of finalCleanUpStates as ReadonlySet<CleanUpState>)
    expect(cleanUpStates[state]).toEqual({});
});

it("a clean-up takes only what its table lists", () => {
  const pairs: [CleanUpState, CleanUpEvent, CleanUpState][] = [
    ["queued", "start", "cleaning"],
    ["queued", "cancel", "cancelled"],
    ["queued", "fail", "failed"],
    ["cleaning", "finish", "done"],
    ["cleaning", "fail", "failed"],
    ["cleaning", "cancel", "cancelled"],
  ];
  for (const [from, event, to] of pairs) expect(next(cleanUpStates, from, event)).toBe(to);
  expect(() => next(cleanUpStates, "queued", "finish")).toThrow(TransitionRefused);
  expect(() => next(cleanUpStates, "cleaning", "start")).toThrow(TransitionRefused);
});
