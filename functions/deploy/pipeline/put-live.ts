/**
 * Moves the traffic to the new container and ends the deployment. Up to the moment before, a cancel wins; from then on
 * it is refused, since the new version may already answer. The clean-up of the old one is ordered in the transaction
 * that says `ready`, so that neither can be without the other.
 */
import { asc, eq } from "drizzle-orm";
import type { Transaction } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import { domains, projects } from "../../../shared/db/project-tables.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { defaultHostname, projectUrls } from "../../../shared/proxy/address.ts";
import type { ProxyParts } from "../../../shared/proxy/apply.ts";
import { switchRoute } from "../../../shared/proxy/switch-route.ts";
import { DeployFailure } from "../failure.ts";
import { orderCleanUp } from "../order-clean-up.ts";
import type { Story, StoryParts } from "../story-parts.ts";
import { turnPhase } from "./phases.ts";

export interface Addresses {
  /** Of the health check. */
  hostname: string;
  urls: string[];
  /** The deployment that serves until the switch. */
  activeBefore: string | null;
}

export async function addressesOf({ parts, deployment, server }: Story): Promise<Addresses> {
  const [project] = await parts.db
    .select({
      slug: projects.slug,
      active: projects.activeDeploymentId,
      deletingAt: projects.deletingAt,
      deletedAt: projects.deletedAt,
    })
    .from(projects)
    .where(eq(projects.id, deployment.projectId));
  if (project === undefined || project.deletedAt !== null || project.deletingAt !== null) {
    throw new DeployFailure("project_deleted", "The project has been deleted.");
  }
  const attached = await parts.db
    .select({ hostname: domains.hostname })
    .from(domains)
    .where(eq(domains.projectId, deployment.projectId))
    .orderBy(asc(domains.id));
  const hostname = attached[0]?.hostname ?? defaultHostname(project.slug, parts.baseDomain);
  return {
    hostname,
    urls: projectUrls(project, attached, server, parts.baseDomain),
    activeBefore: project.active,
  };
}

export async function putLive(story: Story, { urls, activeBefore }: Addresses): Promise<void> {
  const { context, parts, deployment } = story;
  if (activeBefore !== context.id) await context.append([], { activeBefore });
  await moveTraffic(story, context.id, (work) => irrevocably(story, work));
  const { events, progress } = turnPhase(context.progress, { ended: "switch" }, parts.clock.nowMs());
  await context.transition(
    "live",
    async (tx) => {
      await tx.update(deployments).set({ urls, artifact: "kept" }).where(eq(deployments.id, context.id));
      await orderCleanUp(tx, deployment, new Date(parts.clock.nowMs() + limits.drainMs));
    },
    { events, progress },
  );
}

/** Makes a deployment, or none, the active one and tells the server's proxy. */
export async function moveTraffic(
  story: Story,
  deploymentId: string | null,
  first: (work: Work) => Promise<void>,
): Promise<void> {
  const { context, parts, deployment, hand } = story;
  let moved = false;
  await hand.persist(() =>
    switchRoute(proxyParts(parts), {
      serverId: deployment.serverId,
      projectId: deployment.projectId,
      deploymentId,
      // The change itself, then perhaps the taking back of it: only the first is the point of no return.
      transaction: (work) => {
        const run = moved ? context.write : first;
        moved = true;
        return run(work);
      },
      fence: { resource: deployment.projectId, token: context.leaseToken },
      signal: context.signal,
    }),
  );
}

type Work = (tx: Transaction) => Promise<void>;

/** The change in the very transaction that refuses cancels from now on; for a later owner that has happened already. */
async function irrevocably({ context }: Story, work: Work): Promise<void> {
  let done = false;
  await context.pointOfNoReturn(async (tx) => {
    done = true;
    await work(tx);
  });
  if (!done) await context.write(work);
}

function proxyParts({ db, shell, sealer, baseDomain, acmeDirectory }: StoryParts): ProxyParts {
  return { db, shell, sealer, baseDomain, acmeDirectory };
}
