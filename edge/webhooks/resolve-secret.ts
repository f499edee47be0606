/**
 * Whose word a delivery is. Trust is per organization: a secret of one of its projects speaks for that organization
 * only, so another tenant with a project of the same repository can never deploy here. The instance secret speaks only
 * for projects without one of their own. There is no unsigned path. (decisions.md section 5)
 */
import type { Bytes } from "../../shared/crypto/bytes.ts";
import { parseSignature, verifyHmac } from "../../shared/crypto/hmac.ts";
import { limits } from "../../shared/domain/limits.ts";
import { webhookSecretPlace } from "../../shared/domain/sealed-place.ts";
import type { Trust } from "../../shared/ports/edge-store.ts";
import type { EdgeOptions } from "../edge-options.ts";

export interface SignedDelivery {
  repository: string | null;
  /** Picks the secret that is tried first; never an authority. */
  hookId: string | null;
  signature: string | null;
  body: Bytes;
}

/** null: no secret resolves, or none of them made this signature. */
export async function resolveTrust(options: EdgeOptions, delivery: SignedDelivery): Promise<Trust | null> {
  const signature = parseSignature(delivery.signature);
  if (signature === null) return null;
  if (delivery.repository !== null) {
    for (const [secret, organizationIds] of await projectSecrets(
      options,
      delivery.repository,
      delivery.hookId,
    )) {
      if (await verifyHmac(secret, delivery.body, signature)) {
        return { by: "project_secret", organizationIds: [...organizationIds] };
      }
    }
  }
  const instance = options.instanceWebhookSecret;
  if (instance !== null && (await verifyHmac(instance, delivery.body, signature)))
    return { by: "instance_secret" };
  return null;
}

/** Distinct secrets with the organizations that hold them, the hinted one first, and not more than the bound. */
async function projectSecrets(options: EdgeOptions, repository: string, hookId: string | null) {
  const { store, sealer, log } = options;
  const rows = await store.inbox.hookSecrets(repository, hookId, limits.webhookSecretsRead);
  const secrets = new Map<string, Set<string>>();
  for (const row of rows) {
    const place = webhookSecretPlace({ organizationId: row.organizationId, id: row.projectId });
    try {
      const secret = await sealer.open("webhook", place, row.sealedSecret);
      const holders = secrets.get(secret);
      if (holders !== undefined) holders.add(row.organizationId);
      else if (secrets.size < limits.webhookSecretsTried) secrets.set(secret, new Set([row.organizationId]));
    } catch (error) {
      log.error({ err: error, projectId: row.projectId }, "a webhook secret does not open");
    }
  }
  return secrets;
}
