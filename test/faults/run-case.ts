/** One case: a deployment is brought into its phase, the fault strikes, and the oracle judges what became of it. */
import { createDeployment } from "../../shared/contract/deployments.ts";
import { type AppOptions, countingApp, wellFile } from "./app.ts";
import { type Hold, holdAt } from "./holds.ts";
import { inject } from "./inject.ts";
import { type Case, endingOf, type Fault, faults, type PhaseName, phases } from "./matrix.ts";
import { judgeDeployment, judgePublicUrl } from "./oracle.ts";
import { eventsOf, operationRow, settled } from "./rows.ts";
import type { FaultStage } from "./stage.ts";
import { until } from "./until.ts";

export interface Subject {
  projectId: string;
  /** Of each commit. */
  versions: Map<string, string>;
  commit(files: Record<string, string>): Promise<string>;
  /** Commits one more; answers its SHA. */
  next(options?: AppOptions): Promise<string>;
}

/** A project with a version live, and nobody at work. */
export async function openSubject(stage: FaultStage): Promise<Subject> {
  const { id: projectId, commit } = await stage.project();
  const versions = new Map<string, string>();
  const next: Subject["next"] = async (options) => {
    const version = `version ${versions.size + 1} of ${projectId}`;
    const sha = await commit(countingApp(version, options));
    versions.set(sha, version);
    return sha;
  };
  await next();
  const controller = stage.controllers[0] ?? (await stage.startController("short"));
  const { data } = await stage.client(controller).call(createDeployment, { json: { projectId } });
  await settled(stage.db, data.id);
  await judgeDeployment(stage, controller, data.id, { status: "ready" });
  await judgePublicUrl(stage, projectId, versions);
  return { projectId, versions, commit, next };
}

export async function runCase(stage: FaultStage, subject: Subject, each: Case): Promise<void> {
  const { projectId } = subject;
  const fault: Fault = faults[each.fault];
  await stage.stopControllers();
  const first = await stage.startController(fault.lease);
  if (each.fault === "two") await stage.startController(fault.lease);

  const point = phases[each.phase].hold;
  const hold = point === null ? null : await holdAt(stage.machine, point, wordOf(each.phase, projectId));
  const begin = async (options?: AppOptions) => {
    const json = { projectId, commitSha: await subject.next(options) };
    return (await stage.client(first).call(createDeployment, { json })).data.id;
  };
  const ahead = each.phase === "queued" ? await begin() : null;
  if (ahead !== null) await hold?.reached();
  const id = await begin({ slowBuild: each.phase === "build", sick: each.phase === "health" });
  if (ahead === null) await reached(stage, id, each.phase, hold);

  let released = false;
  const release = async () => {
    if (!released) await letGo(stage, id, each.phase, hold);
    released = true;
  };
  const { leaseOwner } = await operationRow(stage.db, ahead ?? id);
  const owner = stage.controllers.find(({ pid }) => leaseOwner?.endsWith(`/${pid}`)) ?? first;
  await inject[each.fault]({ ...each, stage, id, owner, release });

  await settled(stage.db, ahead ?? id);
  await settled(stage.db, id);
  const judge = stage.controllers.find((controller) => controller.alive());
  if (judge === undefined) throw new Error("no controller is left");
  await judgeDeployment(stage, judge, id, endingOf(each));
  if (ahead !== null) {
    const { state } = await operationRow(stage.db, ahead);
    await judgeDeployment(
      stage,
      judge,
      ahead,
      state === "ready" ? { status: "ready" } : endingOf({ ...each, phase: "fetch" }),
    );
  }
  await judgePublicUrl(stage, projectId, subject.versions);
}

/** What tells this project's use of a tool from any other. */
function wordOf(phase: PhaseName, projectId: string): string {
  return phase === "switch" ? "http://localhost/load" : projectId;
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

async function letGo(stage: FaultStage, id: string, phase: PhaseName, hold: Hold | null): Promise<void> {
  await hold?.release();
  if (phase !== "health") return;
  const container = `slipway-${id.toLowerCase()}`;
  // It may be gone, where a cancel was quicker.
  await stage.machine.exec(["docker", "exec", container, "touch", wellFile]);
}
