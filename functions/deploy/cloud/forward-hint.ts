/**
 * Under which hook the cloud knows the secret that signed a delivery: the project's id in the webhook URL there, as its
 * promotion answered it. The cloud tries at most 16 secrets of a repository, and older projects of others would crowd this
 * one out. Several projects may go to the cloud with one push, each with its own secret: only one of them has signed.
 * Rejected: one try after the other with each hint (a body of 5 MiB as often as there are projects).
 */
import { and, inArray, isNotNull } from "drizzle-orm";
import { parseSignature, webHmac } from "../../../shared/crypto/hmac.ts";
import type { Sealer } from "../../../shared/crypto/seal.ts";
import type { Queryable } from "../../../shared/db/database.ts";
import { projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import type { Log } from "../../../shared/ports/log.ts";
import type { Forwarded } from "./forward-store.ts";

export interface HintParts {
  db: Queryable;
  sealer: Pick<Sealer, "open">;
  log: Log;
}

/** null: none of the projects that it goes to the cloud for has signed it, or the cloud named no hook of theirs. */
export async function hintFor(parts: HintParts, delivery: Forwarded): Promise<string | null> {
  const signature = parseSignature(delivery.headers["x-hub-signature-256"]);
  if (signature === null) return null;
  const body = new Uint8Array(delivery.body);
  for (const project of await promotedProjects(parts.db, delivery)) {
    const secret = await secretOf(parts, project);
    if (secret === null) continue;
    const check = await webHmac(secret);
    if (await check(body, signature)) return project.cloudHookId;
  }
  return null;
}

function promotedProjects(db: Queryable, { outcomes }: Forwarded) {
  const ids = outcomes.flatMap(({ verdict, projectId }) => (verdict === "forwarded" ? [projectId] : []));
  const { id, organizationId, cloudHookId, sealedWebhookSecret } = projects;
  return db
    .select({ id, organizationId, cloudHookId, sealedWebhookSecret })
    .from(projects)
    .where(and(inArray(id, ids), isNotNull(cloudHookId), isNotNull(sealedWebhookSecret)))
    .orderBy(id)
    .limit(limits.hookedProjectsRead);
}

type Hinted = Awaited<ReturnType<typeof promotedProjects>>[number];

async function secretOf({ sealer, log }: HintParts, project: Hinted): Promise<string | null> {
  const { id, sealedWebhookSecret: sealed } = project;
  try {
    return sealed === null ? null : await sealer.open("webhook", webhookSecretPlace(project), sealed);
  } catch (error) {
    log.error({ err: error, projectId: id }, "a webhook secret does not open");
    return null;
  }
}
