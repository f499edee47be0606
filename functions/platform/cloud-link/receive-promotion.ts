/**
 * Takes in a project that a linked instance promotes here: project, environment, services, domains and hook secret in
 * one transaction, by the same use cases that a person's requests go through, so that it passes the same checks. The id
 * that it has over there makes it one project however often the request comes. Rejected: an Idempotency-Key over the
 * single requests (it forgets after a day, and keeps a refusal that a person has meanwhile cleared away).
 */
import { and, desc, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import type { Promotion } from "../../../shared/contract/promotions.ts";
import { writeAudit } from "../../../shared/db/audit.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { seenServers } from "../../../shared/db/narrowing.ts";
import { domains, gitConnections, projectServices, projects, servers } from "../../../shared/db/schema.ts";
import { cloneUrlBelow } from "../../../shared/domain/git-connection.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { ProjectSource } from "../../../shared/domain/project.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { insertProject } from "../create-project.ts";
import { attachDomain } from "../domains.ts";
import { registerWithSource } from "../hooks/follow-source.ts";
import { lockHostnames, slugIsFree } from "../hostnames.ts";
import type { PlatformParts } from "../parts.ts";
import { changeEnv, readEnv } from "../project-env.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";
import { createService } from "../services/create.ts";
import { writeProject } from "../update-project.ts";

export async function receivePromotion(
  given: PlatformParts,
  principal: Principal,
  wanted: Promotion,
): Promise<{ projectId: string; created: boolean }> {
  refuseNarrowed(principal, "take in a project");
  const { organizationId } = principal;
  const taken = await given.db.transaction(async (tx) => {
    const parts = { ...given, db: tx };
    const key = `slipway promotion ${organizationId} ${wanted.originProjectId}`;
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
    const present = await promotedBefore(tx, organizationId, wanted.originProjectId);
    // What is live is looked after here by now: nothing is written over.
    if (present !== undefined && present.active !== null) return { projectId: present.id, created: false };
    const source = await withConnection(tx, organizationId, wanted);
    const projectId = present?.id ?? (await create(parts, tx, principal, { ...wanted.project, source }));
    if (present !== undefined) {
      const { kind: _kind, slug: _slug, ...settings } = wanted.project;
      await writeProject(tx, principal, projectId, { ...settings, source });
    }
    await fill(parts, tx, principal, projectId, wanted);
    await writeAudit(tx, principal, {
      action: "project.taken_in",
      resource: { kind: "project", id: projectId },
      fields: ["originProjectId"],
    });
    return { projectId, created: present === undefined };
  });
  // The hook of the other side goes on calling there; the git host is asked only where there is none, and no lock is held.
  if (taken.created && wanted.webhookSecret === undefined)
    await registerHere(given, principal, taken.projectId);
  return taken;
}

async function registerHere(parts: PlatformParts, principal: Principal, id: string): Promise<void> {
  const [row] = await parts.db.select().from(projects).where(eq(projects.id, id));
  if (row !== undefined) await registerWithSource(parts, principal, row);
}

async function promotedBefore(tx: Transaction, organizationId: string, originProjectId: string) {
  const [row] = await tx
    .select({ id: projects.id, active: projects.activeDeploymentId, deletingAt: projects.deletingAt })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, organizationId),
        eq(projects.originProjectId, originProjectId),
        isNull(projects.deletedAt),
      ),
    );
  if (row === undefined || row.deletingAt === null) return row;
  throw new Refusal("conflict", "project_being_deleted", "The project is being deleted there.");
}

async function create(
  parts: PlatformParts,
  tx: Transaction,
  principal: Principal,
  { slug, ...project }: Promotion["project"],
): Promise<string> {
  const serverId = await serverFor(tx, principal);
  await lockHostnames(tx);
  const free = slug !== undefined && (await slugIsFree(tx, parts, slug));
  const made = await insertProject(parts, principal, { ...project, serverId, ...(free ? { slug } : {}) });
  return made.id;
}

async function serverFor(tx: Transaction, principal: Principal): Promise<string> {
  const [server] = await tx
    .select({ id: servers.id })
    .from(servers)
    .where(
      and(
        eq(servers.organizationId, principal.organizationId),
        isNull(servers.deletedAt),
        isNotNull(servers.bootstrappedAt),
        seenServers(principal),
      ),
    )
    .orderBy(desc(servers.id))
    .limit(1);
  if (server !== undefined) return server.id;
  throw new Refusal(
    "conflict",
    "no_ready_server",
    "The organization has no bootstrapped server there; add one first.",
  );
}

/** Credentials do not travel: the connection of this side that reaches the same repository takes the place of the other. */
async function withConnection(
  tx: Transaction,
  organizationId: string,
  { project: { source }, connectionBaseUrl }: Promotion,
): Promise<ProjectSource> {
  if (source.kind !== "git" || connectionBaseUrl === undefined) return source;
  const { connectionId: _, ...plain } = source;
  const own = await tx
    .select({ id: gitConnections.id, baseUrl: gitConnections.baseUrl })
    .from(gitConnections)
    .where(and(eq(gitConnections.organizationId, organizationId), isNull(gitConnections.deletedAt)))
    .orderBy(desc(gitConnections.id));
  const found =
    own.find(({ baseUrl }) => baseUrl === connectionBaseUrl) ??
    own.find(({ baseUrl }) => plain.cloneUrl !== undefined && cloneUrlBelow(baseUrl, plain) !== null);
  if (found !== undefined) return { ...plain, connectionId: found.id };
  throw new Refusal(
    "conflict",
    "git_connection_needed",
    `The repository needs a credential; add a git connection for ${connectionBaseUrl} there first.`,
  );
}

/** Everything beside the project's own row, as the other side has it now. */
async function fill(
  parts: PlatformParts,
  tx: Transaction,
  principal: Principal,
  projectId: string,
  wanted: Promotion,
): Promise<void> {
  const before = (await readEnv(tx, principal, projectId)).map(({ key }) => key);
  const unset = before.filter((key) => !Object.hasOwn(wanted.env, key));
  await changeEnv(parts, principal, projectId, { set: wanted.env, unset });
  await tx.delete(projectServices).where(eq(projectServices.projectId, projectId));
  for (const service of inOrder(wanted.services)) await createService(parts, principal, projectId, service);
  const attached = await tx
    .select({ id: domains.id, hostname: domains.hostname })
    .from(domains)
    .where(eq(domains.projectId, projectId));
  const stale = attached.filter(({ hostname }) => !wanted.domains.some((each) => each.hostname === hostname));
  const staleIds = stale.map(({ id }) => id);
  if (staleIds.length > 0) await tx.delete(domains).where(inArray(domains.id, staleIds));
  const missing = wanted.domains.filter((each) => !attached.some((one) => one.hostname === each.hostname));
  for (const domain of missing) await attachDomain(parts, principal, projectId, domain);
  await setOrigin(parts, tx, { id: projectId, organizationId: principal.organizationId }, wanted);
}

async function setOrigin(
  { sealer }: PlatformParts,
  tx: Transaction,
  project: { id: string; organizationId: string },
  { originProjectId, webhookSecret }: Promotion,
): Promise<void> {
  const sealedWebhookSecret =
    webhookSecret === undefined
      ? null
      : await sealer.seal("webhook", webhookSecretPlace(project), webhookSecret);
  const hook =
    sealedWebhookSecret === null
      ? {}
      : { sealedWebhookSecret, hookId: sql`coalesce(hook_id, ${newId("hook")})` };
  await tx
    .update(projects)
    .set({ originProjectId, ...hook })
    .where(eq(projects.id, project.id));
}

/** Each after those that it depends on; what waits for nothing that there is comes last and is refused by its own check. */
function inOrder(services: Promotion["services"]): Promotion["services"] {
  const placed: Promotion["services"] = [];
  let rest = [...services];
  while (rest.length > 0) {
    const names = new Set(placed.map(({ name }) => name));
    const ready = rest.filter(({ dependsOn = [] }) => dependsOn.every((name) => names.has(name)));
    if (ready.length === 0) return [...placed, ...rest];
    placed.push(...ready);
    rest = rest.filter((each) => !ready.includes(each));
  }
  return placed;
}
