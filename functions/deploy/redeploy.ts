/**
 * The project's latest deployment once more: from the head of its branch, or from the very commit. What was uploaded
 * has no head: the stored upload is taken.
 */
import type { Database } from "../../shared/db/database.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import type { BlobStore } from "../../shared/ports/blob-store.ts";
import { cannotRun, enqueue, refuseUnready, target } from "./create.ts";
import { type DeploymentView, type LatestDeployment, latestOf } from "./store.ts";
import { uploadGone } from "./uploads/session.ts";

export async function redeploy(
  { db, uploads }: { db: Database; uploads: BlobStore },
  principal: Principal,
  id: string,
  useExistingCommit: boolean,
): Promise<DeploymentView> {
  const asked = await load(db, principal, "deployment", id);
  const project = await load(db, principal, "project", asked.projectId);
  await refuseUnready(db, project);
  const latest = await latestOf(db, project.id);
  if (useExistingCommit && (latest === null || (latest.commitSha === null && latest.uploadDigest === null))) {
    throw cannotRun(
      "no_commit_yet",
      "The latest deployment has not come as far as a commit; redeploy without useExistingCommit.",
    );
  }
  const again = { ...target(project), trigger: "redeploy", createdBy: principal.userId } as const;
  if (project.source.kind === "upload" || (useExistingCommit && latest?.uploadDigest)) {
    return enqueue(db, principal, { ...again, branch: null, ...(await sameUpload(uploads, latest)) });
  }
  return enqueue(db, principal, {
    ...again,
    branch: latest === null || latest.uploadDigest !== null ? project.branch : latest.branch,
    commitSha: useExistingCommit ? (latest?.commitSha ?? null) : null,
    commitMessage: useExistingCommit ? (latest?.commitMessage ?? null) : null,
  });
}

async function sameUpload(uploads: BlobStore, latest: LatestDeployment | null) {
  const { uploadDigest = null, asked = null } = latest ?? {};
  if (uploadDigest === null) {
    throw cannotRun("no_upload_yet", "No folder has been uploaded for this project yet.");
  }
  if (!(await uploads.keep(uploadDigest))) throw uploadGone();
  return { uploadDigest, asked };
}
