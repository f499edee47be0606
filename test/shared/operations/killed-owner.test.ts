import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { monotonicClock } from "../../../shared/adapters/clocks.ts";
import { readEvents } from "../../../shared/operations/event-log.ts";
import { fileKind, fileSecret } from "./file-kind.ts";
import { openStage, type Stage } from "./stage.ts";

vi.setConfig({ testTimeout: 60_000 });

let stage: Stage;
let folder: string;
const lines = Array.from(
  { length: 3_000 },
  (_, index) => `line ${index} – ünï – ${index % 50 === 0 ? fileSecret : "🚀"}`,
);
const shown = lines.map((line) => line.replace(fileSecret, "[redacted]"));

beforeAll(async () => {
  stage = await openStage();
  folder = await mkdtemp(join(tmpdir(), "slipway-story-"));
  await writeFile(join(folder, "log"), `${lines.join("\n")}\n`);
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

function startOwner(): ChildProcess {
  const script = fileURLToPath(new URL("./story-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, stage.url, join(folder, "log")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });
  return child;
}

const nextOwner = () =>
  stage.runner({
    kinds: [fileKind({ clock: monotonicClock, path: join(folder, "log"), pauseMs: 0, pieceBytes: 10_000 })],
  });

/** Resolves once the owner is well under way. */
async function untilSeq(id: string, seq: number): Promise<void> {
  for await (const page of stage.feed.follow(id, 0, AbortSignal.timeout(50_000))) {
    if ((page.at(-1)?.seq ?? 0) >= seq) {
      return;
    }
  }
}

async function storedLines(id: string): Promise<unknown[]> {
  const events = await readEvents(stage.db, { operationId: id, since: 0, limit: 100_000, type: "log" });
  return events.map(({ data }) => data["line"]);
}

test("a platform killed with -9 while it works is followed by one that goes on, with no line lost or twice", async () => {
  const child = startOwner();
  const id = await stage.create({ kind: "file" });
  await untilSeq(id, 200);
  child.kill("SIGKILL");
  await once(child, "exit");
  const before = (await storedLines(id)).length;
  expect(before).toBeGreaterThan(100);
  expect(before).toBeLessThan(lines.length);
  expect((await stage.row(id)).final).toBe(false);
  await stage.expireLease(id);
  const next = nextOwner();
  await next.sweep();
  await next.idle();
  expect(await stage.row(id)).toMatchObject({ state: "done", attempts: 2 });
  expect(await storedLines(id)).toEqual(shown);
});

test("a platform that is stopped past its lease and then goes on writes nothing any more", async () => {
  const child = startOwner();
  const said = once(child.stdout ?? child, "data");
  const id = await stage.create({ kind: "file" });
  await untilSeq(id, 200);
  child.kill("SIGSTOP");
  await stage.expireLease(id);
  const next = nextOwner();
  await next.sweep();
  await next.idle();
  const [row, events] = [await stage.row(id), await stage.events(id)];
  expect(row.state).toBe("done");
  child.kill("SIGCONT");
  expect(String((await said)[0])).toBe("LeaseLost\n");
  expect(await stage.row(id)).toEqual(row);
  expect(await stage.events(id)).toEqual(events);
  expect(await storedLines(id)).toEqual(shown);
});

test("the stream shows the same bytes as the stored log, wherever a reader resumes", async () => {
  const id = await stage.create({ kind: "file" });
  const following = (async () => {
    const seen: unknown[] = [];
    for await (const page of stage.feed.follow(id, 0, AbortSignal.timeout(50_000))) {
      seen.push(...page);
    }
    return seen;
  })();
  const runner = nextOwner();
  await runner.handle(id);
  await runner.idle();
  const stored = await readEvents(stage.db, { operationId: id, since: 0, limit: 100_000 });
  expect(await following).toEqual(stored);
  const resumed: unknown[] = [];
  for await (const page of stage.feed.follow(id, 1_234, AbortSignal.timeout(50_000))) {
    resumed.push(...page);
  }
  expect(resumed).toEqual(stored.slice(1_234));
});
