/**
 * Makes an earlier version the active one, as a new deployment with the configuration and environment of then: from
 * the kept image where there is one, else by building that commit. Rejected: switching back to a stopped container
 * (it would carry an old host port and could have been changed from inside).
 */
import { and, eq } from "drizzle-orm";
import type { Sealer } from "../../shared/crypto/seal.ts";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { operations } from "../../shared/db/operation-tables.ts";
import { type Loaded, load } from "../../shared/db/tenancy.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import type { BlobStore } from "../../shared/ports/blob-store.ts";
import { cannotRun, refuseUnready, target } from "./create.ts";
import { type DeploymentConfig, openEnvironment, sealEnvironment } from "./snapshot.ts";
import { type DeploymentView, insertDeployment, viewOf } from "./store.ts";
import { uploadGone } from "./uploads/session.ts";

export async function rollBack(
  { db, sealer, uploads }: { db: Database; sealer: Sealer; uploads: BlobStore },
  principal: Principal,
  id: string,
): Promise<DeploymentView> {
  const earlier = await load(db, principal, "deployment", id);
  const project = await load(db, principal, "project", earlier.projectId);
  assertAdmin(principal);
  if (project.activeDeploymentId === id) {
    throw cannotRun("already_active", "This deployment is the active one already.");
  }
  await refuseUnready(db, project);
  await refuseNeverLive(db, earlier);
  const { uploadDigest } = earlier;
  const uploadKept = uploadDigest !== null && (await uploads.keep(uploadDigest));
  const newRow = { id: newId("deployment"), organizationId: project.organizationId };
  const environment = await openEnvironment(sealer, earlier, earlier.sealedEnv);
  const sealedEnv = await sealEnvironment(sealer, newRow, environment);
  return db.transaction(async (tx) => {
    // Locked: a clean-up that is about to give the image up either comes first, or sees the rollback.
    const [kept] = await tx
      .select({ artifact: deployments.artifact, imageId: deployments.imageId })
      .from(deployments)
      .where(eq(deployments.id, id))
      .for("update");
    const image = kept?.artifact === "kept" && earlier.serverId === project.serverId ? kept.imageId : null;
    if (image === null && earlier.commitSha === null && !uploadKept) {
      throw uploadDigest === null ? nothingToRestore() : uploadGone();
    }
    await insertDeployment(
      tx,
      {
        ...target(project),
        trigger: "rollback",
        branch: earlier.branch,
        commitSha: earlier.commitSha,
        commitMessage: earlier.commitMessage,
        uploadDigest,
        asked: earlier.asked,
        createdBy: principal.userId,
        restored: {
          rollbackOf: id,
          mode: image === null ? "rebuild" : "image",
          imageId: image,
          containerPort: image === null ? null : earlier.containerPort,
          config: earlier.config as unknown as DeploymentConfig,
          sealedEnv,
        },
      },
      newRow.id,
    );
    await writeAudit(tx, principal, {
      action: "deployment.rolled_back",
      resource: { kind: "deployment", id },
      fields: ["activeDeploymentId"],
    });
    return viewOf(tx, newRow.id);
  });
}

/** The route's tag is deployment:write; these two actions need more (spec.md "Authentication" 4). */
export function assertAdmin(principal: Principal): void {
  if (!principal.permissions.has("deployment:admin")) {
    throw new Refusal("forbidden", "forbidden", "This needs the permission deployment:admin.");
  }
}

async function refuseNeverLive(db: Database, earlier: Loaded<"deployment">): Promise<void> {
  const [live] = await db
    .select({ id: operations.id })
    .from(operations)
    .where(and(eq(operations.id, earlier.id), eq(operations.state, "ready")));
  if (live === undefined || earlier.config === null) throw nothingToRestore();
}

function nothingToRestore(): Refusal {
  return cannotRun(
    "nothing_to_restore",
    "This deployment never went live, so there is nothing to go back to.",
  );
}
