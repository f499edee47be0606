/** `slipway notifications channels`: where alerts go. Secrets come from stdin and are never shown again. */
import {
  createChannel,
  deleteChannel,
  listChannels,
  testChannel,
  updateChannel,
} from "../shared/contract/notifications.ts";
import { type Api, everything } from "./api/connect.ts";
import { only } from "./api/find.ts";
import type { Channel } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { Failure, usage } from "./frame/failure.ts";
import { readSecret } from "./terminal/standard-input.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

const named = ["<channel>", "label or id"] as const;

export const defineChannels: Define = (command, context) => {
  command.description("Where alerts go.");
  const list = command
    .command("list")
    .description("Channels of yours.")
    .action(async () => {
      const channels = await findChannel.all(await context.api());
      context.output.result(channels, () =>
        table(
          ["LABEL", "KIND", "GOES TO", "STATE", "ID", "ADDED"],
          channels.map((one) => [
            one.label,
            one.kind,
            one.config.address ?? one.config.url ?? "-",
            stateOf(one),
            one.id,
            ago(one.createdAt, context.now()),
          ]),
        ),
      );
    });
  defineAdd(command.command("add"), context);
  const test = command
    .command("test")
    .description("Send a test for real. One that arrives verifies the channel.")
    .argument(...named)
    .action(async (name: string) => {
      const api = await context.api();
      const { id, label } = await findChannel.one(api, name);
      const { data } = await api.call(testChannel, { params: { id } });
      if (!data.ok) {
        throw new Failure("failed", data.code ?? "test_failed", data.error ?? "The test did not arrive.");
      }
      context.output.result(data, () => `The test arrived; ${label} is verified.`);
    });
  const verify = command
    .command("verify")
    .description("Say that a test arrived, where the far side could not.")
    .argument(...named)
    .action(async (name: string) => {
      const api = await context.api();
      const { id, label } = await findChannel.one(api, name);
      const { data } = await api.call(updateChannel, { params: { id }, json: { verified: true } });
      context.output.result(data, () => `${label} is verified.`);
    });
  const remove = command
    .command("remove")
    .description("Delete a channel with its subscriptions.")
    .argument(...named)
    .option("--yes", "do not ask")
    .action(async (name: string, options: { yes?: boolean }) => {
      const api = await context.api();
      const { id, label } = await findChannel.one(api, name);
      await context.ask.confirmOrYes(`Delete the channel ${label}?`, options.yes);
      await api.call(deleteChannel, { params: { id } });
      context.output.result({ id, removed: true }, () => `Deleted ${label}.`);
    });
  examples(list, "notifications channels list");
  examples(test, "notifications channels test ops");
  examples(verify, "notifications channels verify ops");
  examples(remove, "notifications channels remove ops --yes");
  examples(command, "notifications channels list", "notifications channels test ops");
};

interface AddOptions {
  label?: string;
  address?: string;
  url?: string;
  secretStdin?: boolean;
}

const defineAdd: Define = (command, context) => {
  command
    .description("Add a channel. Test it next: it delivers nothing before.")
    .argument("<kind>", "email, webhook, slack or in_app")
    .option("--label <label>", "default: the kind")
    .option("--address <email>", "of an email channel")
    .option("--url <url>", "of a webhook channel")
    .option("--secret-stdin", "read the Slack hook URL, or a signing key of your own, from stdin")
    .action(async (kind: string, options: AddOptions) => {
      const json = await wanted(kind, options);
      const { data } = await (await context.api()).call(createChannel, { json });
      for (const warning of data.warnings ?? []) context.output.note(warning);
      if (data.signingKey !== undefined) {
        context.output.note(
          "Deliveries are signed with this key (Standard Webhooks); it is not shown again:",
        );
      }
      const next = data.verified ? "" : ` Next: slipway notifications channels test ${data.label}`;
      context.output.result(data, () => data.signingKey ?? `Added ${data.label}.${next}`);
    });
  examples(
    command,
    "notifications channels add email --address me@example.org",
    "notifications channels add webhook --label ops --url https://example.org/hook",
    "notifications channels add slack --label team --secret-stdin < hook-url",
  );
};

async function wanted(kind: string, { label, address, url, secretStdin }: AddOptions) {
  const secret = secretStdin === true ? await readSecret() : undefined;
  const schema = createChannel.request.body.content["application/json"].schema;
  const checked = schema.safeParse({
    kind,
    label: label ?? kind,
    config: {
      ...(address === undefined ? {} : { address }),
      ...(url === undefined ? {} : { url }),
      ...(secret === undefined ? {} : kind === "slack" ? { webhookUrl: secret } : { signingKey: secret }),
    },
  });
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  if (issue?.path[0] === "kind") {
    throw usage(`There is no kind of channel "${kind}".`, "A kind is email, webhook, slack or in_app.");
  }
  throw usage(`${String(issue?.path[0] ?? "channel")}: ${issue?.message ?? "not valid"}`);
}

function stateOf({ enabled, verified, retryAt, lastError }: Channel): string {
  if (!enabled) return lastError === null ? "disabled" : `disabled: ${lastError}`;
  if (!verified) return "not verified";
  return retryAt === null ? "ready" : `failing: ${lastError ?? "no answer"}`;
}

/** Channels of the caller by label or id. */
export const findChannel = {
  all: (api: Api): Promise<Channel[]> => everything((query) => api.call(listChannels, { query })),
  one: async (api: Api, wantedName: string) =>
    only("channel", wantedName, await findChannel.all(api), ({ label }) => [label]),
};
