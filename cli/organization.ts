/** `slipway organization`: the one that the login belongs to. */
import {
  listOrganizations,
  transferOrganization,
  updateOrganization,
} from "../shared/contract/organizations.ts";
import { type Api, everything } from "./api/connect.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { findMember } from "./member.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

export const defineOrganization: Define = (command, context) => {
  const list = command
    .command("list")
    .description("The organization of this login, with the role in it.")
    .action(async () => {
      const found = await organizationsOf(await context.api());
      context.output.result(found, () =>
        table(
          ["NAME", "ID", "ROLE", "CREATED"],
          found.map((one) => [one.name, one.id, one.role, ago(one.createdAt, context.now())]),
        ),
      );
    });
  const rename = command
    .command("rename")
    .description("Give the organization another name.")
    .argument("<name>", "the new name")
    .action(async (name: string) => {
      const api = await context.api();
      const { id } = await present(api);
      const { data } = await api.call(updateOrganization, { params: { id }, json: { name } });
      context.output.result(data, () => `The organization is called ${data.name} now.`);
    });
  const transfer = command
    .command("transfer")
    .description("Make another owner the primary one, to whom pushes are attributed.")
    .argument("<member>", "e-mail, name or id of an owner")
    .option("--yes", "do not ask")
    .action(async (named: string, options: { yes?: boolean }) => {
      const api = await context.api();
      const { id, name } = await present(api);
      const { userId, email } = await findMember(api, named);
      await context.ask.confirmOrYes(`Make ${email} the primary owner of ${name}?`, options.yes);
      const { data } = await api.call(transferOrganization, { params: { id }, json: { userId } });
      context.output.result(data, () => `${email} is the primary owner now.`);
    });
  examples(list, "organization list");
  examples(rename, 'organization rename "Acme Ltd"');
  examples(transfer, "organization transfer ben@example.org --yes");
  examples(command, "organization list", 'organization rename "Acme Ltd"');
};

/** A token has exactly one. */
async function present(api: Api) {
  const [found] = await organizationsOf(api);
  if (found === undefined) throw new Failure("failed", "not_found", "This login has no organization.");
  return found;
}

function organizationsOf(api: Api) {
  return everything((query) => api.call(listOrganizations, { query }));
}
