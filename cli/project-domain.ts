/** `slipway project domain`: the host names under which a project answers. */
import { createDomain, deleteDomain, listDomains } from "../shared/contract/domains.ts";
import { type Api, everything } from "./api/connect.ts";
import { findProject, only } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { integer } from "./frame/number-option.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

const named = ["<project>", "id, slug or name"] as const;

export const defineProjectDomain: Define = (command, context) => {
  command.description("The host names of a project.");
  defineAdd(command.command("add"), context);
  const list = command
    .command("list")
    .description("Host names of a project.")
    .argument(...named)
    .action(async (name: string) => {
      const api = await context.api();
      const domains = await domainsOf(api, (await findProject(api, name)).id);
      context.output.result(domains, () =>
        domains.length === 0
          ? "No host names of its own yet."
          : table(
              ["HOST NAME", "ADDRESS", "PORT", "PATH", "REDIRECTS TO", "ADDED"],
              domains.map((one) => [
                one.hostname,
                one.url,
                one.port?.toString() ?? "-",
                one.targetPath ?? "-",
                one.redirectTo ?? "-",
                ago(one.createdAt, context.now()),
              ]),
            ),
      );
    });
  const remove = command
    .command("remove")
    .description("Detach a host name.")
    .argument(...named)
    .argument("<hostname>", "host name or id")
    .action(async (name: string, wanted: string) => {
      const api = await context.api();
      const { id } = await findProject(api, name);
      const domain = only("domain", wanted, await domainsOf(api, id), ({ hostname }) => [hostname]);
      await api.call(deleteDomain, { params: { id, domainId: domain.id } });
      context.output.result({ id: domain.id, removed: true }, () => `Detached ${domain.hostname}.`);
    });
  examples(list, "project domain list shop");
  examples(remove, "project domain remove shop shop.example.org");
  examples(command, "project domain add shop shop.example.org");
};

const defineAdd: Define = (command, context) => {
  command
    .description("Attach a host name. It answers at once when the project is live.")
    .argument(...named)
    .argument("<hostname>", "lower case, IDN as punycode")
    .option("--port <port>", "port of the application; default: its build port", integer)
    .option("--path <path>", "path of the application that the host name shows")
    .option("--redirect-to <url>", "send visitors there instead")
    .action(
      async (
        name: string,
        hostname: string,
        options: { port?: number; path?: string; redirectTo?: string },
      ) => {
        const api = await context.api();
        const { id } = await findProject(api, name);
        const { data } = await api.call(createDomain, {
          params: { id },
          json: {
            hostname,
            ...(options.port === undefined ? {} : { port: options.port }),
            ...(options.path === undefined ? {} : { targetPath: options.path }),
            ...(options.redirectTo === undefined ? {} : { redirectTo: options.redirectTo }),
          },
        });
        context.output.result(data, () => `Attached ${data.url}`);
      },
    );
  examples(
    command,
    "project domain add shop shop.example.org",
    "project domain add shop www.shop.example.org --redirect-to https://shop.example.org",
  );
};

async function domainsOf(api: Api, id: string) {
  return await everything((query) => api.call(listDomains, { params: { id }, query }));
}
