/** `slipway pin` and `slipway unpin`: whether the image of a deployment outlives the rollback window. */
import type { Command } from "commander";
import { pinDeployment } from "../shared/contract/deployments.ts";
import { findDeployment } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";

export const definePin: Define = (command, context) => {
  setPinned(command, context, true);
  examples(command, "pin dep_01J0000000000000000000000A", "pin shop");
};

export const defineUnpin: Define = (command, context) => {
  setPinned(command, context, false);
  examples(command, "unpin dep_01J0000000000000000000000A");
};

function setPinned(command: Command, context: Context, pinned: boolean): void {
  command
    .argument("<target>", "id of a deployment, or a project for its newest one")
    .action(async (named: string) => {
      const api = await context.api();
      const { id } = await findDeployment(api, named);
      const { data } = await api.call(pinDeployment, { params: { id }, json: { pinned } });
      context.output.result(data, () => `${data.id} is ${data.pinned ? "pinned" : "no longer pinned"}.`);
    });
}
