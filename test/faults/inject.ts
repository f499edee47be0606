/** What each fault does to the stage. Each leaves a controller up that can bring the deployment to its end. */
import { expect } from "vitest";
import { ApiError } from "../../shared/contract/client.ts";
import { cancelDeployment } from "../../shared/contract/deployments.ts";
import type { Controller } from "./controller.ts";
import type { Case, FaultName } from "./matrix.ts";
import { eventsOf, operationRow, rowsOfDeployment, settled } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import { until } from "./until.ts";

export interface Struck extends Case {
  stage: FaultStage;
  id: string;
  /** Works on the deployment, or would. */
  owner: Controller;
  /** Lets the server go on; to be called by the fault when the moment is over. */
  release(): Promise<void>;
}

export const inject: Record<FaultName, (struck: Struck) => Promise<void>> = {
  kill: async ({ stage, owner, release }) => {
    await owner.kill();
    await release();
    await stage.startController("short");
  },
  stop: async ({ stage, owner, id, release }) => {
    await stage.startController("default");
    const code = await owner.stop();
    expect(code).toBe(0);
    const { leaseOwner } = await operationRow(stage.db, id);
    expect(leaseOwner ?? "").not.toMatch(new RegExp(`/${owner.pid}$`));
    await release();
  },
  freeze: async ({ stage, owner, id, release }) => {
    const next = await stage.startController("short");
    const ours = (await operationRow(stage.db, id)).leaseOwner?.endsWith(`/${owner.pid}`) === true;
    owner.freeze();
    await release();
    await settled(stage.db, id);
    const before = [await rowsOfDeployment(stage.db, id), await eventsOf(stage.db, id)];
    owner.thaw();
    // Where it had been the owner, it must have met its end before it could do anything.
    if (ours) await until(() => owner.log().includes("a lease was lost"), true, 30_000);
    expect((await fetch(`${owner.url}/api/system/ready`)).status).toBe(200);
    expect(await owner.stop()).toBe(0);
    expect([await rowsOfDeployment(stage.db, id), await eventsOf(stage.db, id)]).toEqual(before);
    expect(next.alive()).toBe(true);
  },
  two: async ({ release }) => release(),
  cut: async ({ stage, release }) => {
    stage.relay.cut();
    await release();
  },
  sshd: async ({ stage, release }) => {
    const { machine } = stage;
    await machine.read(["systemctl", "kill", "--kill-who=all", "--signal=KILL", "ssh.service"]);
    await machine.read(["sh", "-c", "systemctl reset-failed ssh.service; systemctl restart ssh.service"]);
    await release();
  },
  database: async ({ stage, owner, release }) => {
    const pid = stage.postgres.pid();
    process.kill(pid, "SIGQUIT");
    await until(() => stage.postgres.pid() !== pid, true, 30_000);
    await release();
    expect(owner.alive()).toBe(true);
  },
  reboot: async ({ stage, release }) => {
    await stage.machine.reboot();
    await release();
  },
  cancel: async ({ stage, owner, id, phase, release }) => {
    const answer = stage
      .client(owner)
      .call(cancelDeployment, { params: { id } })
      .then(
        ({ data }) => data.status,
        (error: unknown) => (error instanceof ApiError ? error.code : error),
      );
    // The answer waits for the proof, and the proof for what the server still holds.
    if (phase !== "queued" && phase !== "switch") {
      await until(async () => (await operationRow(stage.db, id)).cancelRequestedAt !== null, true, 10_000);
      await release();
    }
    expect(await answer).toBe(phase === "switch" ? "already_live" : "cancelled");
    await release();
  },
};
