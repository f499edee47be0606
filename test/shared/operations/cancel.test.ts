import { afterAll, beforeAll, expect, test } from "vitest";
import { requestCancel } from "../../../shared/operations/cancel.ts";
import { CancelRequested } from "../../../shared/operations/definition.ts";
import { begin, type DemoKind, demoKind } from "./demo-kind.ts";
import { clockOfPauses, gate, openStage, type Stage } from "./stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const cancel = (kind: DemoKind, id: string) => requestCancel(stage.db, kind, id);

test("cancel of a queued operation is written at once, and it never starts", async () => {
  const kind = demoKind({ kind: "waits" });
  const id = await stage.create({ kind: "waits" });
  expect(await cancel(kind, id)).toBe("cancelled");
  expect(await stage.row(id)).toMatchObject({
    state: "cancelled",
    final: true,
    error: { code: "cancelled" },
  });
  expect((await stage.events(id)).map(([type]) => type)).toEqual(["status", "status", "complete"]);
  expect(await stage.runner({ kinds: [kind] }).handle(id)).toBe("gone");
  expect(await cancel(kind, id)).toBe("final");
});

test("cancel of one in flight reaches its owner, who undoes the work before `cancelled` is written", async () => {
  const work = gate();
  const undoing = gate();
  const order: unknown[] = [];
  const kind: DemoKind = demoKind({
    kind: "told",
    run: async (context) => {
      await begin(context);
      await work.pass(context.signal).catch((error: unknown) => {
        order.push(error);
        throw error;
      });
    },
    undo: async (context) => {
      await undoing.pass();
      order.push(context.signal.aborted, (await stage.row(context.id)).state);
      await context.append([{ type: "log", data: { line: "stopped" } }]);
    },
  });
  const runner = stage.runner({ kinds: [kind] });
  runner.start();
  const id = await stage.create({ kind: "told" });
  await work.reached;
  expect(await cancel(kind, id)).toBe("requested");
  expect(await cancel(kind, id)).toBe("requested");
  undoing.open();
  await stage.over(id);
  expect(order).toEqual([expect.any(CancelRequested), false, "working"]);
  expect(await stage.row(id)).toMatchObject({ state: "cancelled", error: { code: "cancelled" } });
});

test("a cancel whose notification got lost is found by the heartbeat", async () => {
  const work = gate();
  const kind = demoKind({
    kind: "deaf",
    run: async (context) => {
      await begin(context);
      await work.pass(context.signal);
    },
  });
  const runner = stage.runner({ kinds: [kind], listener: { listen: () => undefined } });
  const id = await stage.create({ kind: "deaf" });
  await runner.handle(id);
  await work.reached;
  await cancel(kind, id);
  await stage.clock.advance(10_000);
  await runner.idle();
  expect((await stage.row(id)).state).toBe("cancelled");
});

test("a late success never overwrites an accepted cancel", async () => {
  const work = gate();
  const kind = demoKind({
    kind: "late",
    run: async (context) => {
      await begin(context);
      await work.pass();
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind], listener: { listen: () => undefined } });
  const id = await stage.create({ kind: "late" });
  await runner.handle(id);
  await work.reached;
  expect(await cancel(kind, id)).toBe("requested");
  work.open();
  await runner.idle();
  expect((await stage.row(id)).state).toBe("cancelled");
});

test("past the point of no return a cancel is refused and the story goes on", async () => {
  const work = gate();
  const kind = demoKind({
    kind: "live",
    run: async (context) => {
      await begin(context);
      await context.pointOfNoReturn();
      await context.pointOfNoReturn();
      await work.pass(context.signal);
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind] });
  const id = await stage.create({ kind: "live" });
  await runner.handle(id);
  await work.reached;
  expect(await cancel(kind, id)).toBe("too_late");
  work.open();
  await runner.idle();
  expect((await stage.row(id)).state).toBe("done");
});

test("a cancel that came before the point of no return holds it up", async () => {
  const work = gate();
  const kind = demoKind({
    kind: "before",
    run: async (context) => {
      await begin(context);
      await work.pass();
      await context.pointOfNoReturn();
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind], listener: { listen: () => undefined } });
  const id = await stage.create({ kind: "before" });
  await runner.handle(id);
  await work.reached;
  await cancel(kind, id);
  work.open();
  await runner.idle();
  expect((await stage.row(id)).state).toBe("cancelled");
});

test("a cancel survives the death of the owner: the next one undoes instead of telling the story", async () => {
  const work = gate();
  const order: string[] = [];
  const lost = demoKind({
    kind: "orphan",
    run: async (context) => {
      await begin(context);
      await work.pass();
    },
    undo: async () => {
      order.push("undone by the lost owner");
    },
  });
  const next = demoKind({
    kind: "orphan",
    run: async () => {
      order.push("run");
    },
    undo: async () => {
      order.push("undo");
    },
  });
  const [one, two] = [
    stage.runner({ kinds: [lost], listener: { listen: () => undefined } }),
    stage.runner({ kinds: [next] }),
  ];
  const id = await stage.create({ kind: "orphan" });
  await one.handle(id);
  await work.reached;
  await stage.expireLease(id);
  await cancel(next, id);
  await two.sweep();
  await two.idle();
  expect(order).toEqual(["undo"]);
  expect((await stage.row(id)).state).toBe("cancelled");
  await stage.clock.advance(60_000);
  work.open();
  await one.idle();
  expect(order).toEqual(["undo"]);
});

test("what could not be undone is failed, not cancelled, and says what is left", async () => {
  const work = gate();
  const kind = demoKind({
    kind: "stays",
    run: async (context) => {
      await begin(context);
      await work.pass(context.signal);
    },
    undo: async () => {
      throw new Error("unit slipway-1 does not stop");
    },
  });
  const runner = stage.runner({ kinds: [kind], clock: clockOfPauses() });
  runner.start();
  const id = await stage.create({ kind: "stays" });
  await work.reached;
  await cancel(kind, id);
  await stage.over(id);
  const row = await stage.row(id);
  expect(row).toMatchObject({ state: "failed", error: { code: "cancel_incomplete" } });
  expect(row.error?.hint).toContain("unit slipway-1 does not stop");
});

test("an id of another kind, or of nothing, is absent", async () => {
  const id = await stage.create({ kind: "mine" });
  expect(await cancel(demoKind({ kind: "other" }), id)).toBe("absent");
  expect(await cancel(demoKind(), "op_none")).toBe("absent");
});
