/**
 * Makes a deployment the active one of its project: the moment in which traffic moves. One change of the desired state,
 * carried out by `applyProxy`; when the server does not take it, the deployment that was active stays so.
 */
import { and, eq, isNull } from "drizzle-orm";
import { projects } from "../db/project-tables.ts";
import { notFound } from "../domain/refusal.ts";
import { applyProxy, type ProxyOutcome, type ProxyParts, type ProxyRequest } from "./apply.ts";

export interface SwitchRequest extends Pick<ProxyRequest, "transaction" | "fence" | "signal"> {
  serverId: string;
  projectId: string;
  /** Its `hostPort` must be written already. null takes the project off the proxy. */
  deploymentId: string | null;
}

export async function switchRoute(parts: ProxyParts, request: SwitchRequest): Promise<ProxyOutcome> {
  const { serverId, projectId, deploymentId, ...how } = request;
  let before: string | null = null;
  return applyProxy(parts, {
    ...how,
    serverId,
    async change(tx) {
      const [project] = await tx
        .select({ active: projects.activeDeploymentId })
        .from(projects)
        .where(and(eq(projects.id, projectId), eq(projects.serverId, serverId), isNull(projects.deletedAt)))
        .for("no key update");
      if (project === undefined) throw notFound();
      before = project.active;
      await tx.update(projects).set({ activeDeploymentId: deploymentId }).where(eq(projects.id, projectId));
    },
    async revert(tx) {
      const ours =
        deploymentId === null
          ? isNull(projects.activeDeploymentId)
          : eq(projects.activeDeploymentId, deploymentId);
      await tx
        .update(projects)
        .set({ activeDeploymentId: before })
        .where(and(eq(projects.id, projectId), ours));
    },
  });
}
