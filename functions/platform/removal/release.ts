/**
 * Forgets a project and leaves everything running: no server is asked. What the proxy serves for it now is written
 * down, so that the next change of that server's proxy does not drop it.
 */
import { eq } from "drizzle-orm";
import type { Transaction } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { domains, releasedRoutes } from "../../../shared/db/project-tables.ts";
import type { Principal } from "../../../shared/domain/principal.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import { defaultHostname } from "../../../shared/proxy/address.ts";
import { removeHostHook } from "../hooks/remove.ts";
import type { PlatformParts } from "../parts.ts";
import type { ProjectRow } from "../project-row.ts";
import { lockIdle, wipe } from "./wipe.ts";

export async function releaseProject(parts: PlatformParts, principal: Principal, id: string): Promise<void> {
  const { db, baseDomain } = parts;
  const released = await db.transaction(async (tx) => {
    const project = await lockIdle(tx, id);
    if (project.deletingAt !== null) throw beingDeleted();
    await keepServed(tx, project, baseDomain);
    await wipe(tx, { project, released: true, by: principal, baseDomain });
    return project;
  });
  await removeHostHook(parts, principal, released);
}

export function beingDeleted(): Refusal {
  return new Refusal(
    "conflict",
    "project_being_deleted",
    "The project is being deleted. Wait until that has ended; if the server cannot be reached it ends by itself.",
  );
}

async function keepServed(tx: Transaction, project: ProjectRow, baseDomain: string): Promise<void> {
  const { id: projectId, serverId, slug, activeDeploymentId } = project;
  const [active] = await tx
    .select({ upstreamPort: deployments.hostPort })
    .from(deployments)
    .where(eq(deployments.id, activeDeploymentId ?? ""));
  const upstreamPort = active?.upstreamPort ?? null;
  if (upstreamPort === null) return;
  const attached = await tx
    .select({ hostname: domains.hostname, targetPath: domains.targetPath, redirectTo: domains.redirectTo })
    .from(domains)
    .where(eq(domains.projectId, projectId));
  const names = [
    { hostname: defaultHostname(slug, baseDomain), targetPath: null, redirectTo: null },
    ...attached,
  ];
  for (const name of names) {
    const route = { ...name, projectId, upstreamPort };
    const target = [releasedRoutes.serverId, releasedRoutes.hostname];
    await tx
      .insert(releasedRoutes)
      .values({ serverId, ...route })
      .onConflictDoUpdate({ target, set: route });
  }
}
