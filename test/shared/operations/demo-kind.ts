/** A small kind of work for the tests of the mechanism: what its story does is up to the test. */
import type { Database } from "../../../shared/db/database.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import { insertOperation } from "../../../shared/operations/create.ts";
import type { OperationContext, OperationKind } from "../../../shared/operations/definition.ts";

export type DemoState = "queued" | "working" | "done" | "failed" | "cancelled";
export type DemoEvent = "start" | "finish" | "fail" | "cancel" | "supersede";
export type DemoContext = OperationContext<DemoState, DemoEvent>;
export type DemoKind = OperationKind<DemoState, DemoEvent>;

export function demoKind(parts: Partial<DemoKind> = {}): DemoKind {
  return {
    kind: "demo",
    initial: "queued",
    states: {
      queued: { start: "working", fail: "failed", cancel: "cancelled", supersede: "cancelled" },
      working: { finish: "done", fail: "failed", cancel: "cancelled" },
      done: {},
      failed: {},
      cancelled: {},
    },
    final: new Set<DemoState>(["done", "failed", "cancelled"]),
    mechanism: { failed: "fail", cancelled: "cancel", superseded: "supersede" },
    run: async (context) => {
      await begin(context);
      await context.transition("finish");
    },
    explain: (error) => ({
      code: "broken",
      message: error instanceof Error ? error.message : String(error),
      hint: null,
      logTail: [],
    }),
    undo: async () => undefined,
    ...parts,
  };
}

/** The first move, which a later owner finds made. */
export async function begin(context: DemoContext): Promise<void> {
  if (context.state === "queued") {
    await context.transition("start");
  }
}

export async function createDemo(
  db: Database,
  organizationId: string,
  more: { subjectId?: string; kind?: string; runAfter?: Date } = {},
): Promise<string> {
  const id = newId("operation");
  const { subjectId = newId("project"), kind = "demo", ...rest } = more;
  await db.transaction((tx) =>
    insertOperation(tx, { id, organizationId, kind, subjectId, state: "queued", createdBy: null, ...rest }),
  );
  return id;
}
