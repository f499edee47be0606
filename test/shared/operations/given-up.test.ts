/** What a user sees of an operation whose message the queue gave up: over the protocol of the cloud's queue. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSqsQueue } from "../../../shared/adapters/sqs-queue.ts";
import { consumeNudges } from "../../../shared/operations/consume.ts";
import type { Runner } from "../../../shared/operations/runner.ts";
import type { Queue } from "../../../shared/ports/queue.ts";
import { silentLog } from "../../silent-log.ts";
import { type SqsServer, sqsCredentials, sqsRegion, startSqsServer } from "../../sqs-server.ts";
import { begin, demoKind } from "./demo-kind.ts";
import { gate, openStage, type Stage } from "./stage.ts";

let stage: Stage;
let server: SqsServer;
let queue: Queue;
beforeAll(async () => {
  process.env["AWS_ACCESS_KEY_ID"] = sqsCredentials.accessKeyId;
  process.env["AWS_SECRET_ACCESS_KEY"] = sqsCredentials.secretAccessKey;
  stage = await openStage();
  server = await startSqsServer();
  const deploy = await server.urls("deploy");
  queue = createSqsQueue({
    queues: { deploy },
    ...{ region: sqsRegion, log: silentLog, retrySeconds: 0, waitSeconds: 1 },
  });
});
afterAll(async () => {
  await queue.close();
  await server.close();
  await stage.close();
});

const givenUpLine = (why: string) => [
  "log",
  {
    ...{ stream: "system", phase: "queue" },
    line: `The queue gave up the message of this after several attempts (${why}). It goes on without the message; if it can never start, it ends here.`,
  },
];

/** As the module that deploys consumes, until the test ends. */
async function consume(runner: Pick<Runner, "handle" | "givenUp">, ids: string[]): Promise<() => void> {
  const stop = new AbortController();
  await consumeNudges(queue, "deploy", runner, { concurrency: 1, signal: stop.signal });
  for (const operationId of ids) {
    await queue.send("deploy", { operationId }, { group: ids[0] ?? "", dedupe: operationId });
  }
  return () => stop.abort();
}

test("an operation that nobody can start ends as failed with a reason and tells so; the next of its subject runs", async () => {
  const runner = stage.runner({ kinds: [demoKind({ kind: "poison" })] });
  const subject = { kind: "poison", subjectId: "prj_poison" };
  const id = await stage.create(subject);
  await stage.db.execute(sql`update operations set progress = '7'::jsonb where id = ${id}`);
  const stop = await consume(runner, [id]);
  await stage.over(id);
  const error = {
    code: "message_given_up",
    message:
      "The queue gave up the message of this, and it could not be started without it: an internal error.",
    hint: `Start it anew. If that fails as well, the platform's log says why: look for ${id}.`,
    logTail: [],
  };
  expect(await stage.row(id)).toMatchObject({ state: "failed", final: true, attempts: 0, error });
  expect(await stage.events(id)).toEqual([
    ["status", { status: "queued" }],
    givenUpLine("an internal error"),
    ["status", { status: "failed" }],
    ["complete", { status: "failed", error }],
  ]);
  await expect.poll(() => queue.countDead("deploy"), { timeout: 10_000 }).toBe(1);
  const next = await stage.create(subject);
  await queue.send("deploy", { operationId: next }, { group: id, dedupe: next });
  await stage.over(next);
  expect((await stage.row(next)).state).toBe("done");
  stop();
});

test("an operation that can start goes on without its message, and its log says what happened", async () => {
  const runner = stage.runner({ kinds: [demoKind({ kind: "spared" })] });
  const id = await stage.create({ kind: "spared" });
  const away = new Error("Connection terminated unexpectedly");
  const stop = await consume({ ...runner, handle: () => Promise.reject(away) }, [id]);
  await stage.over(id);
  expect(await stage.events(id)).toEqual([
    ["status", { status: "queued" }],
    givenUpLine("the database did not answer"),
    ["status", { status: "working" }],
    ["status", { status: "done" }],
    ["complete", { status: "done", error: null }],
  ]);
  stop();
});

test("work that is under way is left to its owner, and what is over or was never there is not touched", async () => {
  const work = gate();
  const run = async (context: Parameters<ReturnType<typeof demoKind>["run"]>[0]) => {
    await begin(context);
    await work.pass();
    await context.transition("finish");
  };
  const runner = stage.runner({ kinds: [demoKind({ kind: "owned", run })] });
  const id = await stage.create({ kind: "owned" });
  await runner.handle(id);
  await work.reached;
  await stage.db.execute(sql`update operations set progress = '7'::jsonb where id = ${id}`);
  await stage.expireLease(id);
  await runner.givenUp(id, new Error("select secret"));
  expect(await stage.row(id)).toMatchObject({ state: "working", final: false });
  const events = await stage.events(id);
  expect(events.at(-1)).toEqual(givenUpLine("an internal error"));
  await stage.db.execute(sql`update operations set state = 'done', final = true where id = ${id}`);
  work.open();
  await runner.idle();
  await runner.givenUp(id, new Error("late"));
  await runner.givenUp("op_absent", new Error("late"));
  expect(await stage.events(id)).toEqual(events);
});
