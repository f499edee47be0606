/** The project's latest deployment once more: from the head of its branch, or from the very commit. */
import type { Database } from "../../shared/db/database.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { cannotRun, enqueue, refuseUnready, target } from "./create.ts";
import { type DeploymentView, latestOf } from "./store.ts";

export async function redeploy(
  db: Database,
  principal: Principal,
  id: string,
  useExistingCommit: boolean,
): Promise<DeploymentView> {
  const asked = await load(db, principal, "deployment", id);
  const project = await load(db, principal, "project", asked.projectId);
  await refuseUnready(db, project);
  const latest = await latestOf(db, project.id);
  if (useExistingCommit && latest?.commitSha === null) {
    throw cannotRun(
      "no_commit_yet",
      "The latest deployment has not come as far as a commit; redeploy without useExistingCommit.",
    );
  }
  return enqueue(db, principal, {
    ...target(project),
    trigger: "redeploy",
    branch: latest === null ? project.branch : latest.branch,
    commitSha: useExistingCommit ? (latest?.commitSha ?? null) : null,
    commitMessage: useExistingCommit ? (latest?.commitMessage ?? null) : null,
    createdBy: principal.userId,
  });
}
