/** `slipway cancel`: ends a deployment that is under way. */
import { cancelDeployment } from "../shared/contract/deployments.ts";
import { findDeployment } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";

export const defineCancel: Define = (command, context) => {
  command
    .argument("<target>", "id of a deployment, or a project for its newest one")
    .action(async (named: string) => {
      const api = await context.api();
      const { id } = await findDeployment(api, named);
      const { data } = await api.call(cancelDeployment, { params: { id } });
      context.output.result(data, () =>
        data.status === "cancelled"
          ? `Cancelled ${data.id}.`
          : `${data.id} is being ended; it is ${data.status} still.`,
      );
    });
  examples(command, "cancel shop", "cancel dep_01J0000000000000000000000A");
};
