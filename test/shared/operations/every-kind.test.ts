/** The state tables of all kinds of long work that the product has, and what can be written by them. */
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCleanUpKind } from "../../../functions/deploy/clean-up-kind.ts";
import { createDeploymentKind } from "../../../functions/deploy/deployment-kind.ts";
import { createBootstrapKind } from "../../../functions/platform/bootstrap/kind.ts";
import { createRemovalKind } from "../../../functions/platform/removal/kind.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { insertOperation } from "../../../shared/operations/create.ts";
import type { AnyOperationKind } from "../../../shared/operations/definition.ts";
import { checkKind, TransitionRefused } from "../../../shared/operations/state-table.ts";
import { move } from "../../../shared/operations/transition.ts";
import { productSources } from "../../tidy/sources.ts";
import { openStage, type Stage } from "./stage.ts";

/** A table says nothing about what its story needs. */
const noParts = {} as never;
const kinds: AnyOperationKind[] = [
  createDeploymentKind(noParts),
  createCleanUpKind(noParts),
  createBootstrapKind(noParts),
  createRemovalKind(noParts),
] as unknown as AnyOperationKind[];

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

it("are all here", () => {
  const makers = productSources.flatMap(({ text }) =>
    [...text.matchAll(/export function (create\w+)\([^)]*\): (?:OperationKind<|\w+Kind \{)/g)].map(
      ([, name]) => name,
    ),
  );
  expect(makers).toHaveLength(kinds.length);
});

describe.each(kinds.map((kind) => [kind.kind, kind] as const))("%s", (_, kind) => {
  const states = Object.keys(kind.states);
  const events = [...new Set(states.flatMap((state) => Object.keys(kind.states[state] ?? {})))];

  it("cannot get stuck: every state that is not final leads to a final one, also by failing, and none is out of reach", () => {
    checkKind(kind);
    const reached = (from: string) => {
      const seen = new Set([from]);
      for (const state of seen) {
        for (const to of Object.values(kind.states[state] ?? {})) if (to !== undefined) seen.add(to);
      }
      return seen;
    };
    for (const state of states) {
      expect([...reached(state)].some((to) => kind.final.has(to))).toBe(true);
      if (!kind.final.has(state))
        expect([...kind.final]).toContain(kind.states[state]?.[kind.mechanism.failed] ?? "none");
    }
    expect([...reached(kind.initial)].sort()).toEqual([...states].sort());
  });

  it("knows final states by both of their marks: in the set, and without a move", () => {
    expect(states.filter((state) => Object.keys(kind.states[state] ?? {}).length === 0).sort()).toEqual(
      [...kind.final].sort(),
    );
  });

  it("is moved by what its table lists and by nothing else; a final row never changes", async () => {
    const attempts = fc.array(
      fc.record({ from: fc.constantFrom(...states), event: fc.constantFrom(...events) }),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(attempts, async (all) => {
        const { id, subjectId } = await create(kind);
        const told = [kind.initial];
        for (const { from, event } of all) {
          const before = await stage.row(id);
          const declared = kind.states[from]?.[event];
          const moved = stage.db.transaction((tx) =>
            move(tx, { kind, id, subjectId, from, event, condition: sql`true` }),
          );
          if (declared === undefined) await expect(moved).rejects.toBeInstanceOf(TransitionRefused);
          else expect(await moved).toBe(from === before.state ? declared : undefined);
          if (declared !== undefined && from === before.state) told.push(declared);
          else expect(await stage.row(id)).toEqual(before);
          expect((await stage.row(id)).final).toBe(kind.final.has(told.at(-1) ?? ""));
        }
        const statuses = (await stage.events(id)).filter(([type]) => type === "status");
        expect(statuses.map(([, data]) => data["status"])).toEqual(told);
      }),
      { numRuns: 10 },
    );
  });
});

async function create(kind: AnyOperationKind): Promise<{ id: string; subjectId: string }> {
  const { organizationId } = stage;
  const [id, subjectId] = [newId("operation"), newId("project")];
  const row = { id, organizationId, kind: kind.kind, subjectId, state: kind.initial, createdBy: null };
  await stage.db.transaction((tx) => insertOperation(tx, row));
  return { id, subjectId };
}
