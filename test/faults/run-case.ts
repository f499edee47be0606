/**
 * A case: deployments are brought into their phases, the fault strikes, and the oracle judges what became of each. One
 * fault may meet several deployments at once, each of a project of its own.
 */
import { createDeployment } from "../../shared/contract/deployments.ts";
import { type AppOptions, wellFile } from "./app.ts";
import type { Controller } from "./controller.ts";
import { type Hold, holdAt } from "./holds.ts";
import { inject, type Met } from "./inject.ts";
import { endingOf, type Fault, type FaultName, faults, type PhaseName, phases } from "./matrix.ts";
import { judgeDeployment, judgePublicUrl } from "./oracle.ts";
import { eventsOf, operationRow, settled } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import type { Subject } from "./subject.ts";
import { until } from "./until.ts";

export interface Place {
  phase: PhaseName;
  subject: Subject;
}

export async function runCase(
  stage: FaultStage,
  name: FaultName,
  places: readonly [Place, ...Place[]],
): Promise<void> {
  const { lease }: Fault = faults[name];
  await stage.stopControllers();
  const first = await stage.startController(lease);
  if (name === "two") await stage.startController(lease);
  const met = await Promise.all(places.map((place) => meet(stage, first, place)));
  const owner = (await ownerOf(stage, met[0])) ?? first;
  await inject[name]({ stage, owner, met });

  for (const { id, ahead } of met) {
    if (ahead !== null) await settled(stage.db, ahead);
    await settled(stage.db, id);
  }
  const judge = stage.controllers.find((controller) => controller.alive());
  if (judge === undefined) throw new Error("no controller is left");
  for (const [index, { id, ahead, phase }] of met.entries()) {
    await judgeDeployment(stage, judge, id, endingOf({ fault: name, phase }));
    // It was met in its fetch; nobody has cancelled it.
    const ending = name === "cancel" ? null : endingOf({ fault: name, phase: "fetch" });
    if (ahead !== null) await judgeDeployment(stage, judge, ahead, ending ?? { status: "ready" });
    await judgePublicUrl(stage, places[index]?.subject ?? places[0].subject);
  }
}

async function ownerOf(stage: FaultStage, met: Met | undefined): Promise<Controller | undefined> {
  const { leaseOwner } = await operationRow(stage.db, met?.ahead ?? met?.id ?? "");
  return stage.controllers.find(({ pid }) => leaseOwner?.endsWith(`/${pid}`));
}

async function meet(stage: FaultStage, first: Controller, { phase, subject }: Place): Promise<Met> {
  const { projectId } = subject;
  const point = phases[phase].hold;
  // What the proxy is asked names no project; nobody else gets that far meanwhile.
  const words = {
    "git fetch": projectId,
    "container start": projectId.toLowerCase(),
    "proxy switch": "http://localhost/",
  };
  const hold = point === null ? null : await holdAt(stage.machine, point, words[point]);
  const begin = async (options?: AppOptions) => {
    const json = { projectId, commitSha: await subject.next(options) };
    return (await stage.client(first).call(createDeployment, { json })).data.id;
  };
  const ahead = phase === "queued" ? await begin() : null;
  if (ahead !== null) await hold?.reached();
  const id = await begin({ slowBuild: phase === "build", sick: phase === "health" });
  if (ahead === null) await reached(stage, id, phase, hold);
  return {
    id,
    ahead,
    phase,
    release: async () => {
      await hold?.release();
      if (phase !== "health") return;
      // It may be gone, where a cancel was quicker.
      await stage.machine.exec(["docker", "exec", `slipway-${id.toLowerCase()}`, "touch", wellFile]);
    },
  };
}

async function reached(stage: FaultStage, id: string, phase: PhaseName, hold: Hold | null): Promise<void> {
  if (hold !== null) return hold.reached();
  const { line, phase: begun } = phases[phase];
  const isThere = async () =>
    (await eventsOf(stage.db, id)).some(
      ({ type, data }) =>
        (type === "log" && line?.test(String(data["line"]))) || (type === "phase" && data["phase"] === begun),
    );
  await until(isThere, true, 60_000);
}
