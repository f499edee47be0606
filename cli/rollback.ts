/**
 * `slipway rollback`: named a deployment, to that version; named a project, to the one before the active one. It asks
 * nothing: it is typed in a hurry, and another rollback undoes it.
 */
import { listDeployments, rollbackDeployment } from "../shared/contract/deployments.ts";
import { type Api, everything } from "./api/connect.ts";
import { findDeployment, findProject, isDeploymentId } from "./api/find.ts";
import type { Deployment } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { finish } from "./frame/finish.ts";
import { follows } from "./frame/follow-option.ts";

export const defineRollback: Define = (command, context) => {
  command
    .argument(
      "<target>",
      "id of the deployment to go back to, or a project for the version before the active one",
    )
    .option("--follow", "wait and show what happens (the default on a terminal)")
    .option("--no-follow", "return as soon as it is queued")
    .action(async (named: string, options: { follow?: boolean }) => {
      const api = await context.api();
      const target = isDeploymentId(named) ? await findDeployment(api, named) : await previous(api, named);
      context.output.note(`Going back to ${target.id} (${target.commitSha?.slice(0, 8) ?? "no commit"})`);
      const { data } = await api.call(rollbackDeployment, { params: { id: target.id } });
      await finish(api, context, data, follows(options, context));
    });
  examples(command, "rollback shop", "rollback dep_01J0000000000000000000000A --follow");
};

/** The newest version that went live before the active one. */
async function previous(api: Api, named: string): Promise<Deployment> {
  const project = await findProject(api, named);
  const all = await everything(
    (query) => api.call(listDeployments, { query: { ...query, projectId: project.id } }),
    200,
  );
  const active = all.findIndex(({ isActive }) => isActive);
  const target = active < 0 ? undefined : all.slice(active + 1).find(({ status }) => status === "ready");
  if (target === undefined) {
    throw new Failure(
      "failed",
      "nothing_to_restore",
      `${project.name} has no earlier version to go back to.`,
    );
  }
  return target;
}
