import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { defaultLeaseTimes, type LeaseTimes } from "../../../shared/operations/lease-times.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { shortLease } from "../../short-lease.ts";
import { rings } from "./deploy-platform.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { serverSource } from "./sample-apps.ts";
import type { WorkerInput } from "./worker-process.ts";

describeWithLab("a deployment whose controller dies", (lab) => {
  const keys = rings();
  let workers: ChildProcess[] = [];
  let world: LabWorld;
  beforeAll(async () => {
    world = await openLabWorld(lab, { keys, runner: false });
  });
  afterEach(async () => {
    await Promise.all(workers.map(kill));
    workers = [];
  });
  afterAll(() => world.close());

  const startWorker = (lease: LeaseTimes) => {
    const worker = spawn(process.execPath, [new URL("./worker-process.ts", import.meta.url).pathname], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    const input: WorkerInput = { url: world.platform.database.url, keys, lease };
    worker.stdin?.end(JSON.stringify(input));
    workers.push(worker);
    return worker;
  };
  const kill = async (worker: ChildProcess) => {
    if (worker.exitCode !== null || worker.signalCode !== null) return;
    worker.kill("SIGKILL");
    await once(worker, "exit");
  };
  const follow = async (
    id: string,
    until: (event: { type: string; data: Record<string, unknown> }) => boolean,
  ) => {
    for await (const page of world.platform.feed.follow(id, 0, AbortSignal.timeout(60_000))) {
      if (page.some(until)) return;
    }
    throw new Error("the log ended before");
  };

  it("is taken up where it was: the build goes on, no line is lost or said twice", async () => {
    // Not from the builder's cache: each run is new to it.
    const counted = `: ${Math.random()}; for i in $(seq 1 60); do echo line-$i; sleep 0.2; done`;
    const project = await world.project({
      Dockerfile: `FROM node:24-bookworm-slim\nRUN ${counted}\nCOPY app.js /app.js\nCMD ["node", "/app.js"]\n`,
      "app.js": serverSource("survived"),
    });
    const first = startWorker(shortLease);
    const started = await project.start();
    await follow(started.id, ({ data }) => String(data["line"]).endsWith("line-20"));
    await kill(first);
    startWorker(defaultLeaseTimes);
    const done = await project.settled(started.id, 120_000);
    expect(done).toMatchObject({ status: "ready", error: null });
    expect((await project.get()).body).toBe("survived");

    const { body } = await world.organization.call("GET", `/api/deployments/${started.id}/logs?limit=5000`);
    const lines: string[] = body.data.map(({ line }: { line: string }) => line);
    const said = lines.flatMap((line) => /line-\d+$/.exec(line)?.[0] ?? []);
    expect(said).toEqual(Array.from({ length: 60 }, (_, index) => `line-${index + 1}`));
    expect(lines.filter((line) => line.startsWith("Building "))).toHaveLength(1);
  });

  it("is taken up in the middle of the health check, with one container", async () => {
    const late = `setTimeout(() => { ${serverSource("late")} }, 20_000);`;
    const project = await world.project(
      {
        Dockerfile: 'FROM node:24-bookworm-slim\nCOPY app.js /app.js\nCMD ["node", "/app.js"]\n',
        "app.js": late,
      },
      { healthCheck: { timeoutSeconds: 60 } },
    );
    const first = startWorker(shortLease);
    const started = await project.start();
    await follow(started.id, ({ type, data }) => type === "phase" && data["phase"] === "health");
    await kill(first);
    startWorker(defaultLeaseTimes);
    expect(await project.settled(started.id, 160_000)).toMatchObject({ status: "ready", error: null });
    const filter = `label=slipway.project=${project.id}`;
    const containers = await lab.server.read(["docker", "ps", "-a", "-q", "--filter", filter]);
    expect(containers.split("\n")).toHaveLength(1);
    const owners = await world.platform.db.execute(
      sql`select attempts from operations where id = ${started.id}`,
    );
    expect(owners).toMatchObject({ rows: [{ attempts: 2 }] });
  });
});
