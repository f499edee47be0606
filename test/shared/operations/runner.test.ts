import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { monotonicClock } from "../../../shared/adapters/clocks.ts";
import { LeaseLost } from "../../../shared/operations/definition.ts";
import { recordingLog } from "../../silent-log.ts";
import { begin, type DemoContext, demoKind } from "./demo-kind.ts";
import { clockOfPauses, gate, openStage, type Stage } from "./stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test("an operation runs to its end and says so in its log", async () => {
  const runner = stage.runner({ kinds: [demoKind()] });
  const id = await stage.create();
  expect(await runner.handle(id)).toBe("started");
  await runner.idle();
  expect(await stage.events(id)).toEqual([
    ["status", { status: "queued" }],
    ["status", { status: "working" }],
    ["status", { status: "done" }],
    ["complete", { status: "done", error: null }],
  ]);
  expect(await stage.row(id)).toMatchObject({
    state: "done",
    final: true,
    inFlight: false,
    leaseOwner: null,
    error: null,
  });
  expect(await runner.handle(id)).toBe("gone");
});

test("a runner hears of a new operation by itself", async () => {
  const runner = stage.runner({ kinds: [demoKind({ kind: "heard" })] });
  runner.start();
  const id = await stage.create({ kind: "heard" });
  await stage.over(id);
  expect((await stage.row(id)).state).toBe("done");
});

test("two runners on one database never run one operation twice", async () => {
  const told = new Map<string, number>();
  const kind = demoKind({
    kind: "once",
    run: async (context) => {
      told.set(context.id, (told.get(context.id) ?? 0) + 1);
      await begin(context);
      await context.transition("finish");
    },
  });
  const runners = [stage.runner({ kinds: [kind] }), stage.runner({ kinds: [kind] })];
  const ids = await Promise.all(Array.from({ length: 20 }, () => stage.create({ kind: "once" })));
  const answers = await Promise.all(runners.flatMap((runner) => ids.map((id) => runner.handle(id))));
  await Promise.all(runners.map((runner) => runner.idle()));
  while (told.size < ids.length) {
    await Promise.all(runners.map((runner) => runner.sweep()));
    await Promise.all(runners.map((runner) => runner.idle()));
  }
  expect([...told.values()]).toEqual(ids.map(() => 1));
  expect(answers).toContain("busy");
});

test("at most one operation of a subject is in flight; the next starts when it ends, without a sweep", async () => {
  const first = gate();
  const kind = demoKind({
    kind: "turns",
    run: async (context) => {
      await begin(context);
      await first.pass();
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind] });
  runner.start();
  const one = await stage.create({ kind: "turns", subjectId: "prj_turns" });
  await first.reached;
  const two = await stage.create({ kind: "turns", subjectId: "prj_turns" });
  expect(await runner.handle(two)).toBe("busy");
  expect((await stage.row(two)).state).toBe("queued");
  first.open();
  await stage.over(one);
  await stage.over(two);
  expect((await stage.row(two)).state).toBe("done");
});

test("only the newest waiting operation of a subject starts; older ones are cancelled as superseded", async () => {
  const first = gate();
  const kind = demoKind({
    kind: "newest",
    run: async (context) => {
      await begin(context);
      await first.pass();
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind] });
  runner.start();
  const create = () => stage.create({ kind: "newest", subjectId: "prj_newest" });
  const running = await create();
  await first.reached;
  const waiting = [await create(), await create(), await create()];
  const [two = "", three = "", four = ""] = waiting;
  await stage.over(two);
  await stage.over(three);
  for (const id of [two, three]) {
    const row = await stage.row(id);
    expect(row).toMatchObject({
      state: "cancelled",
      final: true,
      startedAt: null,
      error: { code: "superseded" },
    });
    expect((await stage.events(id)).slice(1)).toEqual([
      ["status", { status: "cancelled" }],
      ["complete", { status: "cancelled", error: row.error }],
    ]);
  }
  expect((await stage.row(four)).state).toBe("queued");
  first.open();
  await stage.over(running);
  await stage.over(four);
  expect((await stage.row(four)).state).toBe("done");
});

test("an operation does not start before its time", async () => {
  const runner = stage.runner({ kinds: [demoKind()] });
  const id = await stage.create({ runAfter: new Date(Date.now() + 3_600_000) });
  expect(await runner.handle(id)).toBe("busy");
  await runner.sweep();
  expect((await stage.row(id)).state).toBe("queued");
});

test("a runner takes no more than it may, and the rest when it has room", async () => {
  const hold = gate();
  const kind = demoKind({
    kind: "room",
    run: async (context) => {
      await begin(context);
      await hold.pass();
      await context.transition("finish");
    },
  });
  const runner = stage.runner({ kinds: [kind], concurrency: 1 });
  const [one, two] = [await stage.create({ kind: "room" }), await stage.create({ kind: "room" })];
  expect(await runner.handle(one)).toBe("started");
  expect(await runner.handle(two)).toBe("full");
  hold.open();
  await stage.over(two);
  expect((await stage.row(two)).state).toBe("done");
});

test("a story that throws is undone first and then failed, with what the kind makes of it", async () => {
  const order: string[] = [];
  const kind = demoKind({
    kind: "throws",
    run: async (context) => {
      await begin(context);
      throw new Error("the build broke");
    },
    undo: async (context) => {
      order.push(`undo in ${context.state}`);
    },
  });
  const runner = stage.runner({ kinds: [kind] });
  const id = await stage.create({ kind: "throws" });
  await runner.handle(id);
  await runner.idle();
  expect(order).toEqual(["undo in working"]);
  const error = { code: "broken", message: "the build broke", hint: null, logTail: [] };
  expect(await stage.row(id)).toMatchObject({ state: "failed", error, final: true, inFlight: false });
  expect((await stage.events(id)).at(-1)).toEqual(["complete", { status: "failed", error }]);
});

test("a story that ends without a final state is a bug: failed, internal, logged", async () => {
  const log = recordingLog();
  const runner = stage.runner({ kinds: [demoKind({ kind: "unfinished", run: begin })], log });
  const id = await stage.create({ kind: "unfinished" });
  await runner.handle(id);
  await runner.idle();
  expect(await stage.row(id)).toMatchObject({ state: "failed", error: { code: "internal" } });
  expect(log.lines).toContainEqual(expect.objectContaining({ level: "error" }));
});

test("a state table refuses what it does not list, and the refusal fails the story", async () => {
  const kind = demoKind({ kind: "refused", run: (context) => context.transition("finish") });
  const runner = stage.runner({ kinds: [kind] });
  const id = await stage.create({ kind: "refused" });
  await runner.handle(id);
  await runner.idle();
  expect((await stage.row(id)).state).toBe("failed");
});

test("undoing is tried again with growing pauses, and what is left in the end is said", async () => {
  let tries = 0;
  const kind = demoKind({
    kind: "left",
    run: async (context) => {
      await begin(context);
      throw new Error("broke");
    },
    undo: async () => {
      tries++;
      throw new Error("container web-1 still runs");
    },
  });
  const clock = clockOfPauses();
  const runner = stage.runner({ kinds: [kind], clock });
  const id = await stage.create({ kind: "left" });
  await runner.handle(id);
  await runner.idle();
  expect(clock.pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  expect(tries).toBe(6);
  const row = await stage.row(id);
  expect(row).toMatchObject({ state: "failed", error: { code: "broken" } });
  expect(row.error?.hint).toContain("container web-1 still runs");
});

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
  await vi.waitFor(async () => {
    await stage.clock.advance(60_000);
    expect(runner.running()).toEqual([]);
  });
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
