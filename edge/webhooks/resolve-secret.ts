/**
 * Whose word a delivery is. Trust is per organization: a secret of one of its projects speaks for that organization
 * only, so another tenant with a project of the same repository can never deploy here. The instance secret speaks only
 * for projects without one of their own. There is no unsigned path. (decisions.md section 5)
 */
import type { Bytes } from "../../shared/crypto/bytes.ts";
import { parseSignature, webHmac } from "../../shared/crypto/hmac.ts";
import { limits } from "../../shared/domain/limits.ts";
import type { HookedProject, LinkedProject, LookUp, Trust } from "../../shared/ports/edge-store.ts";
import type { Log } from "../../shared/ports/log.ts";
import type { OpenedSecret, OpenedSecrets } from "../adapters/opened-secrets.ts";
import type { RememberedProjects } from "../adapters/remembered-projects.ts";
import type { EdgeOptions } from "../edge-options.ts";

export interface SignedDelivery {
  repository: string | null;
  /** Picks the secret that is tried first; never an authority. */
  hookId: string | null;
  signature: string | null;
  body: Bytes;
}

export interface Verified {
  trust: Trust;
  /** For which it may act, in the order of their ids. */
  projects: LinkedProject[];
  /** Where it was verified by what is remembered, which holds only if the database still says so. */
  lookUp?: LookUp;
}

/** What deliveries are verified with, besides the options of the edge. */
export interface Keyring {
  opened: OpenedSecrets;
  remembered: RememberedProjects;
}

/** By what is remembered of the repository, where that knows the secret; else by what the database says now. */
export async function resolveTrust(
  options: EdgeOptions,
  keyring: Keyring,
  delivery: SignedDelivery,
): Promise<Verified | null> {
  const { repository } = delivery;
  const lookUp = repository === null ? undefined : keyring.remembered.recall(repository);
  if (lookUp === undefined) return resolveTrustAnew(options, keyring, delivery);
  const trust = await trustIn(options, keyring, delivery, lookUp.projects);
  if (trust === null) return resolveTrustAnew(options, keyring, delivery, lookUp);
  return { trust, projects: actingFor(trust, lookUp.projects), lookUp };
}

/** null: no secret resolves, or none of them made this signature. `inVain`: was tried already, and did not. */
export async function resolveTrustAnew(
  options: EdgeOptions,
  keyring: Keyring,
  delivery: SignedDelivery,
  inVain?: LookUp,
): Promise<Verified | null> {
  const { repository, hookId } = delivery;
  const { inbox } = options.store;
  if (parseSignature(delivery.signature) === null) return null;
  const most = limits.hookedProjectsRead;
  const hooked = repository === null ? [] : await inbox.hookedProjects(repository, hookId, most);
  if (inVain !== undefined && isSame(inVain.projects, hooked)) return null;
  const trust = await trustIn(options, keyring, delivery, hooked);
  if (repository === null) return trust === null ? null : { trust, projects: [] };
  if (trust === null) {
    keyring.remembered.forget(repository);
    return null;
  }
  keyring.remembered.keep({ repository, hookId, most, projects: hooked });
  // As many as were asked for: there may be more of them.
  if (hooked.length === most) return { trust, projects: await inbox.linkedProjects(repository, trust) };
  return { trust, projects: actingFor(trust, hooked) };
}

/** In whatever order: the hint of a delivery changes it. */
function isSame(some: readonly HookedProject[], others: readonly HookedProject[]): boolean {
  return JSON.stringify([...some].sort(byId)) === JSON.stringify([...others].sort(byId));
}

/** null as well where the signature is none. */
async function trustIn(
  options: EdgeOptions,
  { opened }: Keyring,
  { signature, body }: SignedDelivery,
  hooked: readonly HookedProject[],
): Promise<Trust | null> {
  const given = parseSignature(signature);
  if (given === null) return null;
  return trustOf(options, await secretsOf(hooked, opened, options.log), body, given);
}

type Secrets = ReadonlyMap<string, { check: OpenedSecret["check"]; organizationIds: Set<string> }>;

async function trustOf(
  { instanceWebhookSecret: instance, hmac: prepare = webHmac }: EdgeOptions,
  secrets: Secrets,
  body: Bytes,
  signature: Bytes,
): Promise<Trust | null> {
  for (const { check, organizationIds } of secrets.values()) {
    if (await check(body, signature)) return { by: "project_secret", organizationIds: [...organizationIds] };
  }
  if (instance === null) return null;
  const check = await prepare(instance);
  return (await check(body, signature)) ? { by: "instance_secret" } : null;
}

/** Distinct secrets with the organizations that hold them, the hinted one first, and not more than the bound. */
async function secretsOf(
  projects: readonly HookedProject[],
  opened: OpenedSecrets,
  log: Log,
): Promise<Secrets> {
  const secrets = new Map<string, { check: OpenedSecret["check"]; organizationIds: Set<string> }>();
  for (const project of projects) {
    if (project.sealedSecret === null) continue;
    try {
      const { secret, check } = await opened.open(project, project.sealedSecret);
      const holders = secrets.get(secret)?.organizationIds;
      if (holders !== undefined) holders.add(project.organizationId);
      else if (secrets.size < limits.webhookSecretsTried)
        secrets.set(secret, { check, organizationIds: new Set([project.organizationId]) });
    } catch (error) {
      log.error({ err: error, projectId: project.id }, "a webhook secret does not open");
    }
  }
  return secrets;
}

/** As `InboxStore.linkedProjects` says it, of those that were read already. */
function actingFor(trust: Trust, hooked: readonly HookedProject[]): LinkedProject[] {
  const acting = hooked.filter(({ sealedSecret, organizationId }) =>
    trust.by === "instance_secret" ? sealedSecret === null : trust.organizationIds.includes(organizationId),
  );
  return acting.map(({ sealedSecret: _, ...project }) => project).sort(byId);
}

function byId(one: { id: string }, other: { id: string }): number {
  return one.id < other.id ? -1 : 1;
}
