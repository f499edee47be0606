/** `slipway registry`: credentials for private images. The secret comes from stdin or a hidden question, never from argv. */
import {
  checkRegistry,
  createRegistry,
  deleteRegistry,
  listRegistries,
} from "../shared/contract/registries.ts";
import { type Api, everything } from "./api/connect.ts";
import { findServer, only } from "./api/find.ts";
import type { Registry } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { readSecret } from "./terminal/standard-input.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

const named = ["<registry>", "id, host or name"] as const;

export const defineRegistry: Define = (command, context) => {
  defineAdd(command.command("add"), context);
  defineCheck(command.command("check"), context);
  const list = command
    .command("list")
    .description("Registries of the organization.")
    .action(async () => {
      const all = await registriesOf(await context.api());
      context.output.result(all, () => registryTable(all, context.now()));
    });
  const remove = command
    .command("remove")
    .description("Forget a registry and its secret. Later builds pull without it.")
    .argument(...named)
    .option("--yes", "do not ask")
    .action(async (name: string, options: { yes?: boolean }) => {
      const api = await context.api();
      const { id, host } = await findRegistry(api, name);
      await context.ask.confirmOrYes(`Forget the credential for ${host}?`, options.yes);
      await api.call(deleteRegistry, { params: { id } });
      context.output.result({ id, removed: true }, () => `Forgot ${host}.`);
    });
  examples(list, "registry list", "registry list --json");
  examples(remove, "registry remove registry.example.com --yes");
  examples(
    command,
    "registry add registry.example.com --username acme-bot",
    "registry check registry.example.com",
  );
};

const defineAdd: Define = (command, context) => {
  command
    .description("Add a credential for private images. Builds whose Dockerfile names the registry use it.")
    .argument(
      "<host>",
      "as it stands in front of an image: registry.example.com, registry.example.org:5000, docker.io",
    )
    .requiredOption("--username <username>", "account at the registry")
    .option("--password-stdin", "read the password or token from stdin")
    .option("--name <name>", "how to call it; the host when left out")
    .action(async (host: string, options: { username: string; passwordStdin?: boolean; name?: string }) => {
      const api = await context.api();
      const secret =
        options.passwordStdin === true
          ? await readSecret()
          : await context.ask.secret(`Password or token for ${host}`, "--password-stdin");
      const json = { name: options.name ?? host, host, username: options.username, secret };
      const { data } = await api.call(createRegistry, { json });
      context.output.result(
        data,
        () => `Added ${data.host} (${data.id}). Next: slipway registry check ${data.host}`,
      );
    });
  examples(
    command,
    "registry add registry.example.com --username acme-bot",
    "registry add registry.example.org:5000 --username ci --password-stdin < token.txt",
  );
};

const defineCheck: Define = (command, context) => {
  command
    .description("Ask the registry, from a server, whether the credential holds; exit code 1 when not.")
    .argument(...named)
    .option("--server <server>", "the server that asks; the newest one when left out")
    .action(async (name: string, options: { server?: string }) => {
      const api = await context.api();
      const { id, host } = await findRegistry(api, name);
      const query =
        options.server === undefined ? {} : { serverId: (await findServer(api, options.server)).id };
      const { data } = await api.call(checkRegistry, { params: { id }, query });
      context.output.result(data, () => (data.ok ? `${host} takes it.` : `${host} does not take it.`));
      if (!data.ok)
        throw new Failure("failed", data.code ?? "check_failed", data.error ?? "The check failed.");
    });
  examples(
    command,
    "registry check registry.example.com",
    "registry check registry.example.com --server web-1 --json",
  );
};

async function findRegistry(api: Api, name: string): Promise<Registry> {
  return only("registry", name, await registriesOf(api), (one) => [one.host, one.name]);
}

function registriesOf(api: Api): Promise<Registry[]> {
  return everything((query) => api.call(listRegistries, { query }));
}

function registryTable(all: readonly Registry[], nowMs: number): string {
  if (all.length === 0) return "No registries yet. Add one with `slipway registry add`.";
  return table(
    ["HOST", "NAME", "ID", "USER", "SECRET", "ADDED"],
    all.map((one) => [
      one.host,
      one.name,
      one.id,
      one.username,
      one.secret.last4 === "" ? "set" : `…${one.secret.last4}`,
      ago(one.createdAt, nowMs),
    ]),
  );
}
