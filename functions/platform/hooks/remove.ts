/**
 * Takes a webhook of ours off its git host: the one whose id we were given there, and no other. It is of no use any more
 * once its secret is gone from the row, so a host that does not let us, or a connection that is gone, holds up nothing;
 * what stays behind is told and written into the audit.
 */

import type { Sealer } from "../../../shared/crypto/seal.ts";
import { type AuditedActor, writeAudit } from "../../../shared/db/audit.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import {
  type ApiRepository,
  type GitHostApi,
  GitHostApiFailure,
} from "../../../shared/ports/git-host-api.ts";
import type { Log } from "../../../shared/ports/log.ts";
import type { GitConnectionRow } from "../git-connections/show.ts";
import type { ProjectRow } from "../project-row.ts";
import { apiAccess } from "./access.ts";

export interface RemoveHookParts {
  db: Queryable;
  /** Holds the ring `git`. */
  sealer: Pick<Sealer, "open">;
  gitHostApi: GitHostApi;
  log: Log;
}

export type Hooked = Pick<ProjectRow, "id" | "organizationId" | "source" | "hostHook">;

/** `project`: as it was when it still had the hook; `connection` likewise, where it has changed since. Answers null, or why the hook is still there. Never throws. */
export async function removeHostHook(
  parts: RemoveHookParts,
  actor: AuditedActor,
  project: Hooked,
  connection?: GitConnectionRow,
): Promise<string | null> {
  if (project.hostHook === null) return null;
  try {
    const reason = await reasonToLeave(parts, project, project.hostHook, connection);
    if (reason === null) return null;
    parts.log.info({ projectId: project.id, reason }, "a webhook stays behind at its git host");
    const resource = { kind: "project", id: project.id };
    await writeAudit(parts.db, actor, { action: "project.hook_left_behind", resource });
    return reason;
  } catch (error) {
    parts.log.error({ err: error, projectId: project.id }, "a webhook could not be removed");
    return "The platform could not remove it; its log says why.";
  }
}

async function reasonToLeave(
  parts: RemoveHookParts,
  project: Hooked,
  { id, repositoryUrl }: NonNullable<Hooked["hostHook"]>,
  connection: GitConnectionRow | undefined,
): Promise<string | null> {
  const access = await apiAccess(parts.db, parts.sealer, project, connection);
  if ("reason" in access) return access.reason;
  // The same number at another host is somebody else's hook.
  if (access.repository.url !== repositoryUrl) return "The git connection leads to another address by now.";
  try {
    await parts.gitHostApi.removeHook(access.repository, id);
    return null;
  } catch (error) {
    if (error instanceof GitHostApiFailure) return error.message;
    throw error;
  }
}

/** One that was made for a link that is no more. */
export async function removeMadeHook(
  { gitHostApi, log }: Pick<RemoveHookParts, "gitHostApi" | "log">,
  repository: ApiRepository,
  id: string,
): Promise<void> {
  try {
    await gitHostApi.removeHook(repository, id);
  } catch (error) {
    log.warn({ err: error, repository: repository.url }, "a webhook stays behind at its git host");
  }
}
