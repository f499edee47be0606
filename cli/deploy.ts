/** `slipway deploy`: starts a deployment of a linked project and, on a terminal, follows it to its end. */
import { createDeployment } from "../shared/contract/deployments.ts";
import { findProject } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { finish } from "./frame/finish.ts";
import { follows } from "./frame/follow-option.ts";

export const defineDeploy: Define = (command, context) => {
  command
    .argument("<project>", "id, slug or name")
    .option("--branch <branch>", "default: the branch of the project")
    .option("--commit <sha>", "full commit id; default: the head of the branch")
    .option("--follow", "wait and show what happens (the default on a terminal)")
    .option("--no-follow", "return as soon as it is queued")
    .action(async (named: string, options: { branch?: string; commit?: string; follow?: boolean }) => {
      const api = await context.api();
      const project = await findProject(api, named);
      const { data } = await api.call(createDeployment, {
        json: {
          projectId: project.id,
          trigger: "cli",
          ...(options.branch === undefined ? {} : { branch: options.branch }),
          ...(options.commit === undefined ? {} : { commitSha: options.commit }),
        },
      });
      await finish(api, context, data, follows(options, context));
    });
  examples(command, "deploy shop", "deploy shop --branch release --no-follow", "deploy shop --follow --json");
};
