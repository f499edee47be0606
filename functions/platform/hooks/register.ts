/**
 * The project's webhook at its git host. The row decides: it is written before the host is asked, so that the host's first
 * ping finds its secret, and read again after, so that a link, a rotation and an unlink at once end with what the row says.
 * No transaction is open meanwhile. A host that says no fails nothing: its reason is the answer.
 */
import { eq } from "drizzle-orm";
import { type AuditedActor, writeAudit } from "../../../shared/db/audit.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { type ApiRepository, GitHostApiFailure } from "../../../shared/ports/git-host-api.ts";
import type { PlatformParts } from "../parts.ts";
import type { ProjectRow } from "../project-row.ts";
import { apiAccess, repositoryUrlOf } from "./access.ts";
import { isOutOfReach, webhookUrl } from "./address.ts";
import { removeMadeHook } from "./remove.ts";

export type Registration = { registered: true } | { registered: false; reason: string };

/** More rotations than this at once are no accident; the last of them registers its own. */
const roundsMost = 3;

/** The row has a hook id and a secret. Never throws: whoever links has the answer with the secret either way. */
export async function registerHook(
  parts: PlatformParts,
  actor: AuditedActor,
  projectId: string,
): Promise<Registration> {
  try {
    return await untilKept(parts, actor, projectId);
  } catch (error) {
    parts.log.error({ err: error, projectId }, "a webhook could not be registered");
    return { registered: false, reason: "The platform could not register it; its log says why." };
  }
}

async function untilKept(
  parts: PlatformParts,
  actor: AuditedActor,
  projectId: string,
): Promise<Registration> {
  for (let round = 1; round <= roundsMost; round++) {
    const project = await rowOf(parts, projectId);
    if (project.hookId === null || project.sealedWebhookSecret === null) return changedMeanwhile;
    const access = await apiAccess(parts.db, parts.sealer, project);
    if ("reason" in access) return { registered: false, reason: access.reason };
    const asked = await put(parts, project, project.hookId, project.sealedWebhookSecret, access.repository);
    if ("reason" in asked) return asked;
    const kept = await keep(parts, actor, project, { id: asked.id, repositoryUrl: access.repository.url });
    if (kept === "kept") return { registered: true };
    if (kept === "other") {
      await removeMadeHook(parts, access.repository, asked.id);
      return changedMeanwhile;
    }
  }
  return changedMeanwhile;
}

const changedMeanwhile: Registration = {
  registered: false,
  reason: "The project's link was changed by somebody else meanwhile. Look at it, then link it again.",
};

async function put(
  parts: PlatformParts,
  project: ProjectRow,
  hookId: string,
  sealedSecret: string,
  repository: ApiRepository,
): Promise<{ id: string } | { registered: false; reason: string }> {
  const { hostHook } = project;
  const secret = await parts.sealer.open("webhook", webhookSecretPlace(project), sealedSecret);
  const knownId = hostHook?.repositoryUrl === repository.url ? hostHook.id : null;
  const url = webhookUrl(parts.baseUrl, hookId);
  try {
    return { id: await parts.gitHostApi.putHook(repository, { knownId, url, secret }) };
  } catch (error) {
    if (!(error instanceof GitHostApiFailure)) throw error;
    parts.log.info({ err: error, projectId: project.id }, "a webhook was not registered");
    return { registered: false, reason: reasonFor(error, parts.baseUrl) };
  }
}

function reasonFor(failure: GitHostApiFailure, baseUrl: string): string {
  if (failure.kind !== "invalid" || !isOutOfReach(baseUrl)) return failure.message;
  return `The git host does not accept ${baseUrl} as an address for webhooks: it cannot reach it. Give the platform a public address (SLIPWAY_BASE_URL).`;
}

/** `changed`: the secret was rotated meanwhile. `other`: this hook is no longer the project's. */
async function keep(
  { db }: PlatformParts,
  actor: AuditedActor,
  asked: ProjectRow,
  hostHook: { id: string; repositoryUrl: string },
): Promise<"kept" | "changed" | "other"> {
  return db.transaction(async (tx) => {
    const [now] = await tx.select().from(projects).where(eq(projects.id, asked.id)).for("no key update");
    if (now === undefined || now.hookId !== asked.hookId || now.sealedWebhookSecret === null) return "other";
    if ((await repositoryUrlOf(tx, now)) !== hostHook.repositoryUrl) return "other";
    if (now.sealedWebhookSecret !== asked.sealedWebhookSecret) return "changed";
    const { id, repositoryUrl } = now.hostHook ?? {};
    if (id === hostHook.id && repositoryUrl === hostHook.repositoryUrl) return "kept";
    await tx.update(projects).set({ hostHook }).where(eq(projects.id, now.id));
    const resource = { kind: "project", id: now.id };
    await writeAudit(tx, actor, { action: "project.hook_registered", resource });
    return "kept";
  });
}

async function rowOf({ db }: PlatformParts, projectId: string): Promise<ProjectRow> {
  const [row] = await db.select().from(projects).where(eq(projects.id, projectId));
  if (row === undefined) throw new Error(`project ${projectId} has no row`);
  return row;
}
