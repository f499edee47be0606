/**
 * Takes in a project that a linked instance promotes here: project, environment, services, domains and hook secret in
 * one transaction, by the same use cases that a person's requests go through, so that it passes the same checks. The id
 * that it has over there makes it one project however often the request comes. Rejected: an Idempotency-Key over the
 * single requests (it forgets after a day, and keeps a refusal that a person has meanwhile cleared away).
 */
import { and, desc, eq, inArray, isNull, sql } from "drizzle-orm";
import type { Promotion } from "../../../shared/contract/promotions.ts";
import { writeAudit } from "../../../shared/db/audit.ts";
import { gitConnections } from "../../../shared/db/connection-tables.ts";
import type { Transaction } from "../../../shared/db/database.ts";
import { domains, projectServices, projects } from "../../../shared/db/project-tables.ts";
import { cloneUrlBelow } from "../../../shared/domain/git-connection.ts";
import { newId } from "../../../shared/domain/identifier.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import type { ProjectSource } from "../../../shared/domain/project.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { webhookSecretPlace } from "../../../shared/domain/sealed-place.ts";
import { insertProject } from "../create-project.ts";
import { attachDomain } from "../domains.ts";
import { registerWithSource } from "../hooks/follow-source.ts";
import { removeHostHook } from "../hooks/remove.ts";
import { lockHostnames, slugIsFree } from "../hostnames.ts";
import { newestReadyServer } from "../newest-ready-server.ts";
import type { PlatformParts } from "../parts.ts";
import { hasPool } from "../pool.ts";
import { changeEnv, readEnv } from "../project-env.ts";
import type { ProjectRow } from "../project-row.ts";
import { refuseNarrowed } from "../refuse-narrowed.ts";
import { createService } from "../services/create.ts";
import { writeProject } from "../update-project.ts";

export async function receivePromotion(
  given: PlatformParts,
  principal: Principal,
  wanted: Promotion,
): Promise<{ projectId: string; hookId: string | null; created: boolean }> {
  refuseNarrowed(principal, "take in a project");
  const { organizationId } = principal;
  const { written, ...answer } = await given.db.transaction(async (tx) => {
    const parts = { ...given, db: tx };
    const key = `slipway promotion ${organizationId} ${wanted.originProjectId}`;
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
    const present = await promotedBefore(tx, organizationId, wanted.originProjectId);
    // What is live is looked after here by now: nothing is written over.
    if (present !== undefined && present.active !== null) {
      return { projectId: present.id, hookId: present.hookId, created: false, written: null };
    }
    const project = { ...wanted.project, source: await withConnection(tx, organizationId, wanted) };
    const written =
      present === undefined
        ? await create(parts, tx, principal, project)
        : await update(tx, principal, present.id, project);
    const hookId = await fill(parts, tx, principal, written.now.id, wanted);
    await writeAudit(tx, principal, {
      action: "project.taken_in",
      resource: { kind: "project", id: written.now.id },
      fields: ["originProjectId"],
    });
    return { projectId: written.now.id, hookId, created: present === undefined, written };
  });
  if (written !== null) await followSource(given, principal, written);
  return answer;
}

interface Written {
  now: ProjectRow;
  /** As it was when it had the webhook of a repository that it has left. */
  left: ProjectRow | null;
}

/** After the transaction: a git host that hangs would hold the lock of host names against everybody, and a hook outlives a rollback. */
async function followSource(parts: PlatformParts, principal: Principal, { now, left }: Written) {
  if (left !== null) await removeHostHook(parts, principal, left);
  await registerWithSource(parts, principal, now);
}

async function promotedBefore(tx: Transaction, organizationId: string, originProjectId: string) {
  const [row] = await tx
    .select({
      ...{ id: projects.id, active: projects.activeDeploymentId, deletingAt: projects.deletingAt },
      hookId: projects.hookId,
    })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, organizationId),
        eq(projects.originProjectId, originProjectId),
        isNull(projects.deletedAt),
      ),
    )
    // It cannot go live while it is written over.
    .for("no key update");
  if (row === undefined || row.deletingAt === null) return row;
  throw new Refusal("conflict", "project_being_deleted", "The project is being deleted there.");
}

async function create(
  parts: PlatformParts,
  tx: Transaction,
  principal: Principal,
  { slug, ...project }: Promotion["project"],
): Promise<Written> {
  const server = await newestReadyServer(tx, principal);
  if (server === undefined && !hasPool(parts.poolServers)) {
    const message = "The organization has no bootstrapped server there; add one first.";
    throw new Refusal("conflict", "no_ready_server", message);
  }
  await lockHostnames(tx);
  const free = slug !== undefined && (await slugIsFree(tx, parts, slug, principal.organizationId));
  const now = await insertProject(tx, parts, principal, {
    ...project,
    serverId: server?.id,
    ...(free ? { slug } : {}),
  });
  return { now, left: null };
}

async function update(
  tx: Transaction,
  principal: Principal,
  id: string,
  { kind: _kind, slug: _slug, ...settings }: Promotion["project"],
): Promise<Written> {
  const { before, now, leaves } = await writeProject(tx, principal, id, settings);
  return { now, left: leaves ? before : null };
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

/** Everything beside the project's own row, as the other side has it now. Answers its hook id here. */
async function fill(
  parts: PlatformParts,
  tx: Transaction,
  principal: Principal,
  projectId: string,
  wanted: Promotion,
): Promise<string | null> {
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
  return setOrigin(parts, tx, { id: projectId, organizationId: principal.organizationId }, wanted);
}

async function setOrigin(
  { sealer }: PlatformParts,
  tx: Transaction,
  project: { id: string; organizationId: string },
  { originProjectId, webhookSecret }: Promotion,
): Promise<string | null> {
  const sealedWebhookSecret =
    webhookSecret === undefined
      ? null
      : await sealer.seal("webhook", webhookSecretPlace(project), webhookSecret);
  const hook =
    sealedWebhookSecret === null
      ? {}
      : { sealedWebhookSecret, hookId: sql`coalesce(hook_id, ${newId("hook")})` };
  const [row] = await tx
    .update(projects)
    .set({ originProjectId, ...hook })
    .where(eq(projects.id, project.id))
    .returning({ hookId: projects.hookId });
  return row?.hookId ?? null;
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
