/** What is deployed: a project with a repository, and which of its commits has which version. */
import { createDeployment } from "../../shared/contract/deployments.ts";
import { type AppOptions, countingApp } from "./app.ts";
import { judgeDeployment, judgePublicUrl } from "./oracle.ts";
import { settled } from "./rows.ts";
import type { FaultStage } from "./stage.ts";

export interface Subject {
  projectId: string;
  /** Of each commit. */
  versions: Map<string, string>;
  commit(files: Record<string, string>): Promise<string>;
  /** Commits one more version; answers its SHA. */
  next(options?: AppOptions): Promise<string>;
}

export async function makeSubject(stage: FaultStage): Promise<Subject> {
  const { id: projectId, commit } = await stage.project();
  const versions = new Map<string, string>();
  const next: Subject["next"] = async (options) => {
    const version = `version ${versions.size + 1} of ${projectId}`;
    const sha = await commit(countingApp(version, options));
    versions.set(sha, version);
    return sha;
  };
  return { projectId, versions, commit, next };
}

/** With a version live, and nothing under way. */
export async function openSubject(stage: FaultStage): Promise<Subject> {
  const subject = await makeSubject(stage);
  const { projectId } = subject;
  await subject.next();
  const controller = stage.controllers[0] ?? (await stage.startController("short"));
  const { data } = await stage.client(controller).call(createDeployment, { json: { projectId } });
  await settled(stage.db, data.id);
  await judgeDeployment(stage, controller, data.id, { status: "ready" });
  await judgePublicUrl(stage, subject);
  return subject;
}
