/**
 * Deletes a project: the route first, so that no visitor meets a stopped app, then what is labelled as the project's on
 * the server, then the row with its secrets. While the server cannot be reached nothing is deleted (502). `release`
 * asks the server for nothing: everything goes on running and is only forgotten.
 */
import { and, eq, isNull, sql } from "drizzle-orm";
import { writeAudit } from "../../shared/db/audit.ts";
import type { Database, Transaction } from "../../shared/db/database.ts";
import { deployments, domains, operations, projectEnv, projects, servers } from "../../shared/db/schema.ts";
import { serverTarget } from "../../shared/db/server-target.ts";
import { load } from "../../shared/db/tenancy.ts";
import type { Principal } from "../../shared/domain/principal.ts";
import { notFound, Refusal } from "../../shared/domain/refusal.ts";
import { applyProxy } from "../../shared/proxy/apply.ts";
import { claimFence, fencedStep } from "../../shared/shell/fence.ts";
import { askingServer } from "./far-side.ts";
import type { PlatformParts } from "./parts.ts";
import type { ProjectRow } from "./project-row.ts";
import { removeScript } from "./remove-script.ts";

export async function deleteProject(
  parts: PlatformParts,
  principal: Principal,
  id: string,
  release: boolean,
) {
  const project = await load(parts.db, principal, "project", id);
  const forget = (tx: Transaction) => wipe(tx, principal, project, release);
  if (release || (await neverDeployed(parts, id))) {
    return parts.db.transaction(async (tx) => {
      await hide(tx, id);
      await forget(tx);
    });
  }
  const restore = (tx: Transaction) => show(tx, id);
  await askingServer(async () => {
    const serverId = project.serverId;
    const change = (tx: Transaction) => hide(tx, id);
    if (project.activeDeploymentId === null) await parts.db.transaction(change);
    else await applyProxy(parts, { serverId, change, revert: restore });
    try {
      await removeFromServer(parts, project);
    } catch (error) {
      // What is left is the project's again; that the proxy cannot be told either is no second error.
      await Promise.allSettled([restored(parts, project, restore)]);
      throw error;
    }
  });
  await parts.db.transaction(forget);
}

function restored(parts: PlatformParts, project: ProjectRow, restore: (tx: Transaction) => Promise<void>) {
  if (project.activeDeploymentId === null) return parts.db.transaction(restore);
  return applyProxy(parts, { serverId: project.serverId, change: restore });
}

/** No deployment of it ever took a port on the server, so there is nothing to remove. */
async function neverDeployed(parts: PlatformParts, projectId: string): Promise<boolean> {
  return (await parts.db.$count(deployments, eq(deployments.projectId, projectId))) === 0;
}

async function hide(tx: Transaction, id: string): Promise<void> {
  // Excludes a deployment that is being made at this moment (its insert locks the same row).
  await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, id)).for("update");
  const open = and(
    eq(operations.subjectId, id),
    eq(operations.kind, "deployment"),
    eq(operations.final, false),
  );
  if ((await tx.$count(operations, open)) > 0) {
    throw new Refusal(
      "conflict",
      "deployment_in_flight",
      "A deployment of this project is in flight. Cancel it or wait until it has ended.",
    );
  }
  const hidden = await tx
    .update(projects)
    .set({ deletedAt: sql`now()` })
    .where(and(eq(projects.id, id), isNull(projects.deletedAt)))
    .returning({ id: projects.id });
  if (hidden.length === 0) throw notFound();
}

async function show(tx: Transaction, id: string): Promise<void> {
  await tx.update(projects).set({ deletedAt: null }).where(eq(projects.id, id));
}

const removeMs = 60_000;

async function removeFromServer(parts: PlatformParts, project: ProjectRow): Promise<void> {
  const [server] = await parts.db.select().from(servers).where(eq(servers.id, project.serverId));
  if (server === undefined) throw notFound();
  const target = serverTarget(server, parts.sealer);
  const fence = { resource: project.id, token: await nextLeaseToken(parts.db) };
  // Above every owner there was: one that slept through all this starts nothing any more.
  await claimFence(parts.shell, target, { ...fence, deadlineMs: removeMs });
  const result = await fencedStep(parts.shell, target, {
    ...fence,
    script: removeScript,
    args: [project.id],
    deadlineMs: removeMs,
  });
  if (result.stdout.trim() === "gone") return;
  throw new Refusal(
    "upstream",
    "remove_failed",
    "The project's containers could not be removed from the server.",
    {
      cause: new Error(`exit ${result.code}: ${result.stderr.slice(0, 500)}`),
    },
  );
}

async function nextLeaseToken(db: Database): Promise<number> {
  const { rows } = (await db.execute(sql`select nextval('lease_tokens')::float8 as token`)) as unknown as {
    rows: { token: number }[];
  };
  return rows[0]?.token ?? 0;
}

/** Secrets go for good, names and ports become free; the deployments stay as history. */
async function wipe(
  tx: Transaction,
  principal: Principal,
  project: ProjectRow,
  release: boolean,
): Promise<void> {
  const { id } = project;
  await tx.delete(projectEnv).where(eq(projectEnv.projectId, id));
  await tx.delete(domains).where(eq(domains.projectId, id));
  // A released container keeps its port, so the port stays taken.
  if (!release) await tx.update(deployments).set({ hostPort: null }).where(eq(deployments.projectId, id));
  await tx
    .update(deployments)
    .set({ sealedEnv: null, ...(release ? {} : { artifact: "none" }) })
    .where(eq(deployments.projectId, id));
  await tx
    .update(projects)
    .set({ hookId: null, sealedWebhookSecret: null, activeDeploymentId: null })
    .where(eq(projects.id, id));
  const action = release ? "project.released" : "project.deleted";
  await writeAudit(tx, principal, { action, resource: { kind: "project", id } });
}
