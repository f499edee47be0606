/** `slipway logout`: forgets the remembered token. The token itself stays valid; `slipway token revoke` ends it. */
import { forgetLogin } from "./api/credentials.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";

export const defineLogout: Define = (command, context) => {
  command.action(async () => {
    const forgotten = await forgetLogin(context.environment);
    context.output.result({ forgotten }, () =>
      forgotten
        ? "Forgotten. The token itself is still valid until it is revoked."
        : "There was no login to forget.",
    );
  });
  examples(command, "logout");
};
