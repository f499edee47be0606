/**
 * What people are told about the end of a deployment, written with that end. One that a newer one replaced is not
 * announced: nobody stopped it, and the newer one will say how it went.
 */
import { eq } from "drizzle-orm";
import type { Transaction } from "../../shared/db/database.ts";
import { deployments } from "../../shared/db/deployment-tables.ts";
import { projects } from "../../shared/db/project-tables.ts";
import { type Alert, raiseAlert } from "../../shared/db/raise-alert.ts";
import type { EndedOperation } from "../../shared/operations/definition.ts";

export async function announce(tx: Transaction, ended: EndedOperation): Promise<void> {
  if (ended.error?.code === "superseded") return;
  const [row] = await tx
    .select({
      organizationId: deployments.organizationId,
      projectId: deployments.projectId,
      serverId: deployments.serverId,
      trigger: deployments.trigger,
      commitSha: deployments.commitSha,
      commitMessage: deployments.commitMessage,
      urls: deployments.urls,
      project: projects.name,
    })
    .from(deployments)
    .innerJoin(projects, eq(projects.id, deployments.projectId))
    .where(eq(deployments.id, ended.id));
  if (row === undefined) return;
  const said = wordsFor(ended, row);
  if (said === null) return;
  const { organizationId, projectId, serverId } = row;
  const resource = { type: "deployment", id: ended.id };
  await raiseAlert(tx, {
    ...said,
    ...{ organizationId, projectId, serverId, resource, link: `/api/deployments/${ended.id}` },
  });
}

interface About {
  project: string;
  trigger: string;
  commitSha: string | null;
  commitMessage: string | null;
  urls: readonly string[];
}

function wordsFor(
  { id, state, error }: EndedOperation,
  about: About,
): Pick<Alert, "category" | "title" | "message"> | null {
  const { project } = about;
  switch (state) {
    case "ready": {
      const where = about.urls.length === 0 ? "" : `\nIt answers at ${about.urls.join(", ")}.`;
      const title = `${project} is live`;
      return { category: "deploy.succeeded", title, message: `${version(about)} went live.${where}` };
    }
    case "failed": {
      const why = [error?.message, error?.hint].filter((text) => typeof text === "string").join(" ");
      const message = `${version(about)} did not go live. ${why}\nThe whole log: slipway logs ${id}`;
      return { category: "deploy.failed", title: `Deploying ${project} failed`, message };
    }
    case "cancelled":
      return {
        category: "deploy.cancelled",
        title: `Deploying ${project} was cancelled`,
        message: `${version(about)} was cancelled. What was live before is untouched.`,
      };
    default:
      return null;
  }
}

function version({ trigger, commitSha, commitMessage }: About): string {
  if (commitSha === null) return trigger === "rollback" ? "A rollback" : "A deployment";
  const [subject = ""] = (commitMessage ?? "").split("\n");
  const what = subject === "" ? "" : ` (${subject})`;
  return `${trigger === "rollback" ? "A rollback to commit" : "Commit"} ${commitSha.slice(0, 8)}${what}`;
}
