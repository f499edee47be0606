/**
 * `slipway token`: access tokens. Creating goes through the API when somebody is logged in; otherwise, or with
 * `--offline`, directly to the database, so that an instance can be set up and rescued by scripts on its own machine.
 */
import { createToken, deleteToken, listTokens } from "../shared/contract/organizations.ts";
import { type Api, connectTo, everything } from "./api/connect.ts";
import { currentLogin } from "./api/credentials.ts";
import { findProject, findServer, only } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { usage } from "./frame/failure.ts";
import { integer } from "./frame/number-option.ts";
import { withRefusals } from "./frame/offline-failure.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

interface CreateOptions {
  name: string;
  permission: string[];
  project: string[];
  server: string[];
  expiresInDays?: number;
  offline?: boolean;
}

export const defineToken: Define = (command, context) => {
  defineCreate(command.command("create"), context);
  const list = command
    .command("list")
    .description("Access tokens, without their secrets.")
    .action(async () => {
      const api = await context.api();
      const tokens = await everything((query) => api.call(listTokens, { query }));
      context.output.result(tokens, () =>
        table(
          ["NAME", "ID", "PERMISSIONS", "LAST USED", "EXPIRES", "CREATED"],
          tokens.map((one) => [
            one.name,
            one.id,
            one.permissions?.join(" ") ?? "all of its maker",
            ago(one.lastUsedAt, context.now()),
            one.expiresAt === null ? "never" : ago(one.expiresAt, context.now()),
            ago(one.createdAt, context.now()),
          ]),
        ),
      );
    });
  const revoke = command
    .command("revoke")
    .description("Revoke a token. It stops working at once.")
    .argument("<token>", "id or name")
    .option("--yes", "do not ask")
    .action(async (named: string, options: { yes?: boolean }) => {
      const api = await context.api();
      const tokens = await everything((query) => api.call(listTokens, { query }));
      const { id, name } = only("token", named, tokens, (token) => [token.name]);
      await context.ask.confirmOrYes(`Revoke the token ${name} (${id})?`, options.yes);
      await api.call(deleteToken, { params: { id } });
      context.output.result({ id, revoked: true }, () => `Revoked ${name}.`);
    });
  examples(list, "token list", "token list --json");
  examples(revoke, "token revoke ci --yes");
  examples(command, "token create --name ci --permission deployment:write", "token list");
};

const defineCreate: Define = (command, context) => {
  command
    .description("Make an access token. Its secret is shown once.")
    .requiredOption("--name <name>", "what it is for")
    .option("--permission <tag>", "may be given again; default: all that its maker may do", collect, [])
    .option("--project <project>", "only this project; may be given again; offline: ids only", collect, [])
    .option("--server <server>", "only this server; may be given again; offline: ids only", collect, [])
    .option("--expires-in-days <days>", "default: never", integer)
    .option("--offline", "directly on the data folder or DATABASE_URL, without a login")
    .action((options: CreateOptions) => create(context, options));
  examples(
    command,
    "token create --name laptop",
    "token create --name ci --permission deployment:write --project shop --expires-in-days 90 --json",
    "token create --name rescue --offline",
  );
};

async function create(context: Context, options: CreateOptions): Promise<void> {
  const login = options.offline ? undefined : await currentLogin(context.environment);
  const made =
    login === undefined
      ? await createOffline(context, options)
      : await createOnline(connectTo(login, context), options);
  // The secret alone on stdout, so that it can be piped.
  context.output.note(`Token ${options.name} (${made.id}); it is not shown again:`);
  context.output.result(made, () => made.token);
}

async function createOnline(api: Api, options: CreateOptions) {
  const projectIds = await Promise.all(
    options.project.map(async (named) => (await findProject(api, named)).id),
  );
  const serverIds = await Promise.all(options.server.map(async (named) => (await findServer(api, named)).id));
  return (await api.call(createToken, { json: wanted(options, projectIds, serverIds) })).data;
}

async function createOffline({ environment }: Context, options: CreateOptions) {
  const input = wanted(options, options.project, options.server);
  const { createTokenOffline, offlineOptions } = await import("../functions/offline.ts");
  return await withRefusals(() => createTokenOffline(offlineOptions(environment), input));
}

/** Checked by the contract's own schema on both ways, so that both refuse the same. */
function wanted(options: CreateOptions, projectIds: string[], serverIds: string[]) {
  const schema = createToken.request.body.content["application/json"].schema;
  const checked = schema.safeParse({
    name: options.name,
    ...(options.permission.length === 0 ? {} : { permissions: options.permission }),
    ...(projectIds.length === 0 ? {} : { projectIds }),
    ...(serverIds.length === 0 ? {} : { serverIds }),
    ...(options.expiresInDays === undefined ? {} : { expiresInDays: options.expiresInDays }),
  });
  if (checked.success) return checked.data;
  const [first] = checked.error.issues;
  const [field, index] = first?.path ?? [];
  if (field === "permissions") {
    throw usage(
      `There is no permission "${options.permission[Number(index)]}".`,
      "Permissions look like deployment:write; the API reference lists all of them.",
    );
  }
  throw usage(`${String(field ?? "token")}: ${first?.message ?? "not valid"}`);
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}
