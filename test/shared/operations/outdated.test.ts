/** Rows that an older version has left in a state that is in no table any more. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requestCancel } from "../../../shared/operations/cancel.ts";
import { demoKind } from "./demo-kind.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

async function createOutdated(kind: string, more: { inFlight?: boolean } = {}): Promise<string> {
  const id = await stage.create({ kind });
  await stage.db.execute(
    sql`update operations set state = 'polishing', in_flight = ${more.inFlight ?? false} where id = ${id}`,
  );
  return id;
}

test("an operation in a state that its kind does not know any more is undone and failed, without its story", async () => {
  const order: string[] = [];
  const kind = demoKind({
    kind: "outdated",
    run: async () => void order.push("run"),
    undo: async () => void order.push("undo"),
  });
  const id = await createOutdated("outdated", { inFlight: true });
  const runner = stage.runner({ kinds: [kind] });
  expect(await runner.handle(id)).toBe("started");
  await runner.idle();
  expect(order).toEqual(["undo"]);
  expect(await stage.row(id)).toMatchObject({ state: "failed", final: true, error: { code: "outdated" } });
  expect((await stage.events(id)).at(-1)?.[0]).toBe("complete");
});

test("it can be cancelled, whether somebody works on it or not", async () => {
  const kind = demoKind({ kind: "outdated" });
  const waiting = await createOutdated("outdated");
  expect(await requestCancel(stage.db, kind, waiting)).toBe("cancelled");
  expect(await stage.row(waiting)).toMatchObject({ state: "cancelled", final: true });
  const flying = await createOutdated("outdated", { inFlight: true });
  expect(await requestCancel(stage.db, kind, flying)).toBe("requested");
  const runner = stage.runner({ kinds: [kind] });
  await runner.handle(flying);
  await runner.idle();
  expect((await stage.row(flying)).final).toBe(true);
});

test("no other event moves it", async () => {
  const kind = demoKind({ kind: "outdated", run: (context) => context.transition("finish") });
  const id = await createOutdated("outdated");
  const runner = stage.runner({ kinds: [kind] });
  await runner.handle(id);
  await runner.idle();
  expect((await stage.row(id)).state).toBe("failed");
});
