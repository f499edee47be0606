/** Who works on an operation: owners that are fenced out, fail to renew, stop, die or get nowhere. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { monotonicClock } from "../../../shared/adapters/clocks.ts";
import { LeaseLost } from "../../../shared/operations/definition.ts";
import { begin, type DemoContext, demoKind } from "./demo-kind.ts";
import { gate, openStage, type Stage } from "./stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test("an owner fenced out resumes nothing: its append throws LeaseLost and the second owner finishes", async () => {
  const first = gate();
  const seen: unknown[] = [];
  const slow = demoKind({
    kind: "fence",
    run: async (context) => {
      await begin(context);
      await context.append([{ type: "log", data: { line: "first" } }], { offset: 7 });
      await first.pass();
      await context.append([{ type: "log", data: { line: "late" } }]).catch((error: unknown) => {
        seen.push(error, context.signal.aborted);
        throw error;
      });
    },
    undo: async () => {
      seen.push("undone");
    },
  });
  const quick = demoKind({
    kind: "fence",
    run: async (context) => {
      seen.push(context.attempt, context.state, context.progress);
      await context.transition("finish");
    },
  });
  const [one, two] = [stage.runner({ kinds: [slow] }), stage.runner({ kinds: [quick] })];
  const id = await stage.create({ kind: "fence" });
  await one.handle(id);
  await first.reached;
  const before = (await stage.row(id)).leaseToken ?? 0;
  await two.sweep();
  expect((await stage.row(id)).state).toBe("working");
  await stage.expireLease(id);
  await two.sweep();
  await two.idle();
  expect((await stage.row(id)).leaseToken).toBeGreaterThan(before);
  first.open();
  await one.idle();
  expect(seen).toEqual([2, "working", { offset: 7 }, expect.any(LeaseLost), true]);
  expect((await stage.events(id)).map(([type, data]) => data["line"] ?? type)).toEqual([
    "status",
    "status",
    "first",
    "status",
    "complete",
  ]);
});

test("an owner whose heartbeats fail stops before its lease ends", async () => {
  const told = gate();
  const ended = Promise.withResolvers<unknown>();
  const kind = demoKind({
    kind: "heart",
    run: async (context) => {
      await begin(context);
      context.signal.addEventListener("abort", () => ended.resolve(context.signal.reason));
      await told.pass(context.signal);
    },
  });
  const broken = { answer: true };
  const db = new Proxy(stage.db, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      const breaks = key === "execute" && broken.answer === false;
      return breaks ? () => Promise.reject(new Error("Connection terminated unexpectedly")) : value;
    },
  });
  const runner = stage.runner({ kinds: [kind], db });
  const id = await stage.create({ kind: "heart" });
  await runner.handle(id);
  await told.reached;
  broken.answer = false;
  await stage.clock.advance(24_000);
  expect(runner.running()).toEqual([id]);
  await stage.clock.advance(1_000);
  expect(await ended.promise).toBeInstanceOf(LeaseLost);
  broken.answer = true;
  const stopped = runner.stop();
  await vi.waitFor(async () => {
    await stage.clock.advance(1_000);
    expect(runner.running()).toEqual([]);
  });
  await stopped;
  expect((await stage.row(id)).final).toBe(false);
});

test("heartbeats keep a lease as long as the work takes", async () => {
  const work = gate();
  const kind = demoKind({
    kind: "long",
    run: async (context) => {
      await begin(context);
      await work.pass(context.signal);
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind] });
  const id = await stage.create({ kind: "long" });
  await runner.handle(id);
  await work.reached;
  const until: (Date | null)[] = [(await stage.row(id)).leaseUntil];
  for (let beats = 0; beats < 6; beats++) {
    await stage.clock.advance(10_000);
    await vi.waitFor(async () => expect((await stage.row(id)).leaseUntil).not.toEqual(until.at(-1)));
    until.push((await stage.row(id)).leaseUntil);
  }
  work.open();
  await runner.idle();
  expect((await stage.row(id)).state).toBe("done");
});

test("a stopping process gives its leases back at once; the next one goes on where it left off", async () => {
  const work = gate();
  const ended: unknown[] = [];
  const first = demoKind({
    kind: "handed",
    run: async (context) => {
      await begin(context);
      await context.append([{ type: "log", data: { line: "half" } }], { offset: 5 });
      await work.pass(context.signal).catch((error: unknown) => {
        ended.push(error);
        throw error;
      });
    },
    undo: async () => {
      ended.push("undone");
    },
  });
  const second = demoKind({
    kind: "handed",
    run: async (context) => {
      ended.push(context.progress, context.attempt);
      await context.transition("finish");
    },
  });
  const one = stage.runner({ kinds: [first] });
  const id = await stage.create({ kind: "handed" });
  await one.handle(id);
  await work.reached;
  stage.runner({ kinds: [second] }).start();
  await one.stop();
  expect(await one.handle(id)).toBe("stopping");
  await stage.over(id);
  expect(ended).toEqual([expect.any(LeaseLost), { offset: 5 }, 2]);
  expect((await stage.row(id)).state).toBe("done");
});

test("planned handovers are no failed attempts, however many", async () => {
  const id = await stage.create({ kind: "rolling" });
  for (let restart = 0; restart < 8; restart++) {
    const work = gate();
    const run = (context: DemoContext) => work.pass(context.signal);
    const runner = stage.runner({ kinds: [demoKind({ kind: "rolling", run })] });
    expect(await runner.handle(id)).toBe("started");
    await work.reached;
    await runner.stop();
  }
  const last = stage.runner({ kinds: [demoKind({ kind: "rolling" })] });
  await last.handle(id);
  await last.idle();
  expect(await stage.row(id)).toMatchObject({ state: "done", attempts: 9 });
});

test("an operation that no owner gets anywhere with is undone and failed as abandoned", async () => {
  const stories: number[] = [];
  const undone: number[] = [];
  const dies = demoKind({
    kind: "deadly",
    run: async (context) => {
      stories.push(context.attempt);
      throw new LeaseLost();
    },
    undo: async (context) => {
      undone.push(context.attempt);
    },
  });
  const id = await stage.create({ kind: "deadly" });
  const runner = stage.runner({ kinds: [dies] });
  while (!(await stage.row(id)).final) {
    await runner.handle(id);
    await runner.idle();
    await stage.expireLease(id);
  }
  expect(stories).toEqual([1, 2, 3, 4, 5]);
  expect(undone).toEqual([6]);
  expect(await stage.row(id)).toMatchObject({ state: "failed", error: { code: "abandoned" } });
});

test("an owner that dies while it undoes is followed by one that goes on undoing, not by the story", async () => {
  const order: string[] = [];
  const kind = demoKind({
    kind: "undoing",
    run: async () => {
      order.push("run");
      throw new Error("broke");
    },
    undo: async () => {
      order.push("undo");
      if (order.length === 2) {
        throw new LeaseLost();
      }
    },
  });
  const id = await stage.create({ kind: "undoing" });
  const runner = stage.runner({ kinds: [kind] });
  while (!(await stage.row(id)).final) {
    await runner.handle(id);
    await runner.idle();
    await stage.expireLease(id);
  }
  expect(order).toEqual(["run", "undo", "undo"]);
  expect(await stage.row(id)).toMatchObject({ state: "failed", error: { code: "broken", message: "broke" } });
});

test("a database that is away for a moment costs an attempt, not the operation", async () => {
  let away = false;
  const db = new Proxy(stage.db, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      return away && key === "execute"
        ? () => Promise.reject(new Error("Connection terminated unexpectedly"))
        : value;
    },
  });
  const undone: string[] = [];
  const kind = demoKind({
    kind: "blip",
    run: async (context) => {
      await begin(context);
      if (context.attempt === 1) {
        away = true;
        setImmediate(() => {
          away = false;
        });
        await context.append([{ type: "log", data: { line: "lost" } }]);
      }
      await context.transition("finish");
    },
    undo: async () => {
      undone.push("undone");
    },
  });
  const runner = stage.runner({ kinds: [kind], db, clock: monotonicClock });
  runner.start();
  const id = await stage.create({ kind: "blip" });
  await stage.over(id);
  expect(await stage.row(id)).toMatchObject({ state: "done", attempts: 2 });
  expect(undone).toEqual([]);
});
