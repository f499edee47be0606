/** What each fault does to the stage. Each leaves a controller up that can bring the deployments to their ends. */
import { expect } from "vitest";
import { ApiError } from "../../shared/contract/client.ts";
import { cancelDeployment } from "../../shared/contract/deployments.ts";
import type { Controller } from "./controller.ts";
import type { FaultName, PhaseName } from "./matrix.ts";
import { eventsOf, operationRow, rowsOfDeployment, settled } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import { until } from "./until.ts";

/** A deployment that is held in a phase. */
export interface Met {
  phase: PhaseName;
  id: string;
  /** In front of one that is queued. */
  ahead: string | null;
  /** Lets the server go on with it. The fault does, when its moment is over; twice is fine. */
  release(): Promise<void>;
}

export interface Struck {
  stage: FaultStage;
  /** Works on the deployments. */
  owner: Controller;
  met: readonly Met[];
}

const releaseAll = (met: readonly Met[]) => Promise.all(met.map((each) => each.release()));

export const inject: Record<FaultName, (struck: Struck) => Promise<unknown>> = {
  kill: async ({ stage, owner, met }) => {
    await owner.kill();
    await releaseAll(met);
    await stage.startController("short");
  },
  stop: async ({ stage, owner, met }) => {
    await stage.startController("default");
    expect(await owner.stop()).toBe(0);
    // Given back, not left to run out.
    for (const { id } of met) {
      expect((await operationRow(stage.db, id)).leaseOwner ?? "").not.toMatch(new RegExp(`/${owner.pid}$`));
    }
    await releaseAll(met);
  },
  freeze: async ({ stage, owner, met }) => {
    await stage.startController("short");
    const leaseOwners = await Promise.all(
      met.map(async ({ id }) => (await operationRow(stage.db, id)).leaseOwner),
    );
    owner.freeze();
    await releaseAll(met);
    for (const { id } of met) await settled(stage.db, id);
    const written = () =>
      Promise.all(met.flatMap(({ id }) => [rowsOfDeployment(stage.db, id), eventsOf(stage.db, id)]));
    const before = await written();
    owner.thaw();
    // Where it had been the owner, it must have met its end before it could do anything.
    if (leaseOwners.some((name) => name?.endsWith(`/${owner.pid}`))) {
      await until(() => owner.log().includes("a lease was lost"), true, 30_000);
    }
    expect((await fetch(`${owner.url}/api/system/ready`)).status).toBe(200);
    expect(await owner.stop()).toBe(0);
    expect(await written()).toEqual(before);
  },
  two: ({ met }) => releaseAll(met),
  cut: async ({ stage, met }) => {
    stage.relay.cut();
    await releaseAll(met);
  },
  sshd: async ({ stage, met }) => {
    const { machine } = stage;
    await machine.read(["systemctl", "kill", "--kill-who=all", "--signal=KILL", "ssh.service"]);
    await machine.read(["sh", "-c", "systemctl reset-failed ssh.service; systemctl restart ssh.service"]);
    await releaseAll(met);
  },
  database: async ({ stage, owner, met }) => {
    const pid = await stage.databasePid();
    process.kill(pid, "SIGQUIT");
    await until(async () => (await stage.databasePid()) !== pid, true, 30_000);
    await releaseAll(met);
    expect(owner.alive()).toBe(true);
  },
  reboot: async ({ stage, met }) => {
    await stage.machine.reboot();
    await releaseAll(met);
  },
  cancel: async ({ stage, owner, met }) => {
    const client = stage.client(owner);
    const cancel = async ({ id, phase, release }: Met) => {
      const answer = client.call(cancelDeployment, { params: { id } }).then(
        ({ data }) => data.status,
        (error: unknown) => (error instanceof ApiError ? error.code : error),
      );
      // The answer waits for the proof, and the proof for what the server still holds.
      if (phase !== "queued" && phase !== "switch") {
        await until(async () => (await operationRow(stage.db, id)).cancelRequestedAt !== null, true, 10_000);
        await release();
      }
      // After ten seconds it answers without the proof (202); how it ends is judged in any case.
      const unproven = phase === "queued" ? [] : ["building", "deploying"];
      expect(phase === "switch" ? ["already_live"] : ["cancelled", ...unproven]).toContain(await answer);
      await release();
    };
    await Promise.all(met.map(cancel));
  },
};
