import { expect, test } from "vitest";
import { allows, checkKind, next, TransitionRefused } from "../../../shared/operations/state-table.ts";
import { type DemoEvent, type DemoState, demoKind } from "./demo-kind.ts";

const states: DemoState[] = ["queued", "working", "done", "failed", "cancelled"];
const events: DemoEvent[] = ["start", "finish", "fail", "cancel", "supersede"];
const allowed: Record<string, DemoState> = {
  "queued start": "working",
  "queued fail": "failed",
  "queued cancel": "cancelled",
  "queued supersede": "cancelled",
  "working finish": "done",
  "working fail": "failed",
  "working cancel": "cancelled",
};

test.each(states.flatMap((state) => events.map((event) => [state, event] as const)))(
  "in %s, %s leads where the table says, or is refused",
  (state, event) => {
    const to = allowed[`${state} ${event}`];
    const table = demoKind().states;
    expect(allows(table, state, event)).toBe(to !== undefined);
    if (to === undefined) {
      expect(() => next(table, state, event)).toThrow(TransitionRefused);
    } else {
      expect(next(table, state, event)).toBe(to);
    }
  },
);

test("names that every object has are no states and no events", () => {
  const table: Record<string, Record<string, string>> = demoKind().states;
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    expect(() => next(table, name, "start")).toThrow(TransitionRefused);
    expect(() => next(table, "queued", name)).toThrow(TransitionRefused);
  }
});

test("a kind that could get stuck is refused before it runs", () => {
  const { states } = demoKind();
  expect(() => checkKind(demoKind())).not.toThrow();
  expect(() => checkKind(demoKind({ states: { ...states, working: { finish: "done" } } }))).toThrow(
    /no way to fail/,
  );
  expect(() => checkKind(demoKind({ states: { ...states, working: { fail: "queued" } } }))).toThrow(
    /not final/,
  );
  expect(() =>
    checkKind(demoKind({ mechanism: { failed: "fail", cancelled: "cancel", superseded: "finish" } })),
  ).toThrow(/not allowed/);
});
