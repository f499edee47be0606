/**
 * The webhook of a project: an address with an opaque hint, and a secret of its own that is shown in the answer that made
 * it only. The project's git connection registers it at the git host; where it cannot, a person adds it by hand.
 */
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { type AuditedActor, writeAudit } from "../../../shared/db/audit.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { load } from "../../../shared/db/tenancy.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { refuseInCloud } from "../cloud-link/refuse-in-cloud.ts";
import type { PlatformParts } from "../parts.ts";
import type { ProjectRow } from "../project-row.ts";
import { webhookUrl } from "./address.ts";
import { registerHook } from "./register.ts";
import { removeHostHook } from "./remove.ts";

const byHand = "A person can add it at the git host: content type application/json, event push.";

export async function linkProject(parts: PlatformParts, principal: Principal, id: string, rotate: boolean) {
  const { hookId, made } = await parts.db.transaction(async (tx) => {
    const project = await locked(tx, principal, id);
    if (project.source.kind !== "git") throw notFromGit();
    if (project.hookId !== null && project.sealedWebhookSecret !== null && !rotate) {
      return { hookId: project.hookId, made: null };
    }
    // The other side verifies with the same secret.
    refuseInCloud(project);
    const secret = await giveSecret(tx, parts, project);
    await auditSecret(tx, principal, project);
    return { hookId: secret.hookId, made: secret };
  });
  const registration = await registerHook(parts, principal, id);
  return {
    webhookUrl: webhookUrl(parts.baseUrl, hookId),
    ...(made === null ? {} : { webhookSecret: made.secret }),
    ...(registration.registered
      ? registration
      : { registered: false, reason: wayOut(registration.reason, made !== null) }),
  };
}

function wayOut(reason: string, hasSecret: boolean): string {
  return `${reason} ${byHand}${hasSecret ? "" : " Linking with rotate=1 shows a new secret for that."}`;
}

export interface GivenSecret {
  hookId: string;
  secret: string;
  sealed: string;
}

/** Writes a fresh secret; the project's row is locked. */
export async function giveSecret(
  tx: Transaction,
  { sealer }: Pick<PlatformParts, "sealer">,
  project: Pick<ProjectRow, "id" | "organizationId" | "hookId">,
): Promise<GivenSecret> {
  const hookId = project.hookId ?? newId("hook");
  const secret = randomBytes(32).toString("hex");
  const sealed = await sealer.seal("webhook", webhookSecretPlace(project), secret);
  await tx.update(projects).set({ hookId, sealedWebhookSecret: sealed }).where(eq(projects.id, project.id));
  return { hookId, secret, sealed };
}

async function auditSecret(tx: Transaction, actor: AuditedActor, before: ProjectRow): Promise<void> {
  const action = before.sealedWebhookSecret === null ? "project.linked" : "project.webhook_secret_rotated";
  const resource = { kind: "project", id: before.id };
  await writeAudit(tx, actor, { action, resource, fields: ["webhookSecret"] });
}

function notFromGit(): Refusal {
  return new Refusal(
    "validation",
    "not_a_git_project",
    "This project is deployed from uploads and has no repository; a webhook would never be called.",
  );
}

/** Again is no error: the hook is gone either way. Answers why it is still at the git host, if it is. */
export async function unlinkProject(
  parts: PlatformParts,
  principal: Principal,
  id: string,
): Promise<{ reason?: string }> {
  const before = await parts.db.transaction(async (tx) => {
    const project = await locked(tx, principal, id);
    if (project.hookId === null && project.sealedWebhookSecret === null) return null;
    refuseInCloud(project);
    await tx.update(projects).set(noHook).where(eq(projects.id, id));
    await writeAudit(tx, principal, { action: "project.unlinked", resource: { kind: "project", id } });
    return project;
  });
  const reason = before === null ? null : await removeHostHook(parts, principal, before);
  return reason === null ? {} : { reason: `The webhook is still at the git host. ${reason}` };
}

/** Columns of a project that no git host calls. */
export const noHook = { hookId: null, sealedWebhookSecret: null, hostHook: null } as const;

async function locked(tx: Transaction, principal: Principal, id: string) {
  await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, id)).for("no key update");
  return load(tx, principal, "project", id);
}
