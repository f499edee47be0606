/** `slipway deployments`: what was deployed, newest first. */
import { listDeployments } from "../shared/contract/deployments.ts";
import { everything } from "./api/connect.ts";
import { findDeployment, findProject } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { integer } from "./frame/number-option.ts";
import { deploymentTable, deploymentText } from "./terminal/deployment-text.ts";

export const defineDeployments: Define = (command, context) => {
  const list = command
    .command("list")
    .description("Deployments of a project or of the organization, newest first.")
    .argument("[project]", "id, slug or name")
    .option("--limit <count>", "how many at most", integer, 20)
    .action(async (named: string | undefined, options: { limit: number }) => {
      const api = await context.api();
      const projectId = named === undefined ? undefined : (await findProject(api, named)).id;
      const deployments = await everything(
        (query) =>
          api.call(listDeployments, {
            query: { ...query, ...(projectId === undefined ? {} : { projectId }) },
          }),
        options.limit,
      );
      context.output.result(deployments, () => deploymentTable(deployments, context.now()));
    });
  const show = command
    .command("show")
    .description("One deployment with its phases, addresses and error.")
    .argument("<deployment>", "id of a deployment, or a project for its newest one")
    .action(async (named: string) => {
      const deployment = await findDeployment(await context.api(), named);
      context.output.result(deployment, () => deploymentText(deployment, context.now()));
    });
  examples(list, "deployments list shop --limit 5", "deployments list --json");
  examples(show, "deployments show shop", "deployments show dep_01J0000000000000000000000A");
  examples(command, "deployments list shop", "deployments show shop");
};
