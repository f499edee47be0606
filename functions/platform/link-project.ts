/**
 * The webhook of a project: an address with an opaque hint, and a secret of its own that is shown in the answer that
 * made it only. No git connection can register it yet, so a person adds it at the git host.
 */
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Transaction } from "../../shared/db/database.ts";
import { projects } from "../../shared/db/schema.ts";
import { load } from "../../shared/db/tenancy.ts";
import { newId } from "../../shared/domain/identifier.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { Refusal } from "../../shared/domain/refusal.ts";
import { webhookSecretPlace } from "../../shared/domain/sealed-place.ts";
import { refuseInCloud } from "./cloud-link/refuse-in-cloud.ts";
import type { PlatformParts } from "./parts.ts";

const reason =
  "No git connection can register it. Add it by hand at the git host: content type application/json, event push.";

export async function linkProject(parts: PlatformParts, principal: Principal, id: string, rotate: boolean) {
  return parts.db.transaction(async (tx) => {
    const project = await locked(tx, principal, id);
    if (project.source.kind !== "git") throw notFromGit();
    const hookId = project.hookId ?? newId("hook");
    const answer = {
      webhookUrl: `${parts.baseUrl}/api/webhooks/git_host?hook=${hookId}`,
      registered: false,
      reason,
    };
    if (project.sealedWebhookSecret !== null && !rotate) return answer;
    // The other side verifies with the same secret.
    refuseInCloud(project);
    const webhookSecret = randomBytes(32).toString("hex");
    const sealedWebhookSecret = await parts.sealer.seal(
      "webhook",
      webhookSecretPlace(project),
      webhookSecret,
    );
    await tx.update(projects).set({ hookId, sealedWebhookSecret }).where(eq(projects.id, id));
    const action = project.sealedWebhookSecret === null ? "project.linked" : "project.webhook_secret_rotated";
    await writeAudit(tx, principal, { action, resource: { kind: "project", id }, fields: ["webhookSecret"] });
    return { ...answer, webhookSecret };
  });
}

function notFromGit(): Refusal {
  return new Refusal(
    "validation",
    "not_a_git_project",
    "This project is deployed from uploads and has no repository; a webhook would never be called.",
  );
}

/** Again is no error: the hook is gone either way. */
export async function unlinkProject(parts: PlatformParts, principal: Principal, id: string): Promise<void> {
  await parts.db.transaction(async (tx) => {
    const project = await locked(tx, principal, id);
    if (project.hookId === null && project.sealedWebhookSecret === null) return;
    refuseInCloud(project);
    await tx.update(projects).set({ hookId: null, sealedWebhookSecret: null }).where(eq(projects.id, id));
    await writeAudit(tx, principal, { action: "project.unlinked", resource: { kind: "project", id } });
  });
}

async function locked(tx: Transaction, principal: Principal, id: string) {
  await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, id)).for("no key update");
  return load(tx, principal, "project", id);
}
