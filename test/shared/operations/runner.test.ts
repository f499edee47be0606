/** Starting, order, undoing: what one runner does with what it is given. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordingLog } from "../../silent-log.ts";
import { begin, demoKind } from "./demo-kind.ts";
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
