/** `slipway redeploy`: the project once more, from the head of its branch or from the commit that it has. */
import { redeploy } from "../shared/contract/deployments.ts";
import { findDeployment } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { finish } from "./frame/finish.ts";
import { follows } from "./frame/follow-option.ts";

export const defineRedeploy: Define = (command, context) => {
  command
    .argument("<target>", "id of a deployment, or a project for its newest one")
    .option("--same-commit", "the commit of the latest deployment instead of the head of the branch")
    .option("--follow", "wait and show what happens (the default on a terminal)")
    .option("--no-follow", "return as soon as it is queued")
    .action(async (named: string, options: { sameCommit?: boolean; follow?: boolean }) => {
      const api = await context.api();
      const { id } = await findDeployment(api, named);
      const json = { useExistingCommit: options.sameCommit ?? false };
      const { data } = await api.call(redeploy, { params: { id }, json });
      await finish(api, context, data, follows(options, context));
    });
  examples(command, "redeploy shop", "redeploy shop --same-commit --follow");
};
