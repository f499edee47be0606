import { afterAll, beforeAll, expect, it } from "vitest";
import { reconcile } from "../../../functions/deploy/reconcile/sweep.ts";
import { sweepEvery } from "../../../functions/sweep-every.ts";
import { createSsh2Shell } from "../../../shared/adapters/ssh2-shell.ts";
import { describeWithLab } from "../../lab/describe-with-lab.ts";
import { testPool } from "../../pool-rules.ts";
import { silentLog } from "../../silent-log.ts";
import { type LabWorld, openLabWorld } from "./lab-world.ts";
import { dockerApp, serverSource } from "./sample-apps.ts";

describeWithLab("a push whose webhook never arrived", (lab) => {
  const shell = createSsh2Shell();
  const stopping = new AbortController();
  let world: LabWorld;
  let sweeping: Promise<void>;
  beforeAll(async () => {
    world = await openLabWorld(lab, { shell });
    const { db, sealer } = world.platform;
    const parts = {
      db,
      shell,
      sealer,
      pool: testPool,
      log: silentLog,
      everyMs: 500,
      signal: stopping.signal,
    };
    sweeping = sweepEvery({ everyMs: 500, run: () => reconcile(parts) }, silentLog, stopping.signal);
  });
  afterAll(async () => {
    stopping.abort();
    await sweeping;
    await world.close();
  });

  it("deploys by itself, from the default branch too, and only once", async () => {
    const project = await world.project(dockerApp("one"), { branch: null });
    await project.deploy();
    const list = async () =>
      (await world.organization.call("GET", `/api/deployments?projectId=${project.id}`)).body.data;
    const sha = await project.commit({ "app.js": serverSource("two") });
    await expect.poll(list, { timeout: 60_000, interval: 200 }).toHaveLength(2);
    const [raised] = await list();
    const done = await project.settled(raised.id);
    expect(done).toMatchObject({
      ...{ trigger: "reconcile", status: "ready", isActive: true, error: null },
      ...{ branch: "main", commitSha: sha, commitMessage: "Next" },
    });
    expect((await project.get()).body).toMatch(/^two/);
    expect(await list()).toHaveLength(2);
  });
});
