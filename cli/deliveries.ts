/** `slipway deliveries`: what git hosts sent, what came of it, and once more. */
import {
  getWebhookDelivery,
  listRefusedDeliveries,
  listWebhookDeliveries,
  replayWebhookDelivery,
  webhookDelivery,
} from "../shared/contract/deliveries.ts";
import { everything } from "./api/connect.ts";
import { findProject } from "./api/find.ts";
import type { Delivery } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { usage } from "./frame/failure.ts";
import { integer } from "./frame/number-option.ts";
import { deliveryTable, deliveryText, replayText } from "./terminal/delivery-text.ts";
import { table } from "./terminal/table.ts";
import { spanMs } from "./terminal/time.ts";

const statuses = webhookDelivery.shape.status.options;

export const defineDeliveries: Define = (command, context) => {
  defineList(command.command("list"), context);
  defineShow(command.command("show"), context);
  defineReplay(command.command("replay"), context);
  defineRefused(command.command("refused"), context);
  examples(
    command,
    "deliveries list shop",
    "deliveries show whd_01J0000000000000000000000A",
    "deliveries replay whd_01J0000000000000000000000A",
  );
};

interface ListOptions {
  limit: number;
  status?: string;
  event?: string;
  branch?: string;
  repo?: string;
  since?: string;
}

const defineList: Define = (command, context) => {
  command
    .description("Deliveries of a project or of the organization, newest first.")
    .argument("[project]", "id, slug or name")
    .option("--limit <count>", "how many at most", integer, 20)
    .option("--status <status>", statuses.join(", "))
    .option("--event <event>", "as `push`")
    .option("--branch <branch>", "of a push")
    .option("--repo <owner/repo>", "repository that it came from")
    .option("--since <time>", "as `30m`, `24h` or `7d` ago, or a time in ISO 8601")
    .action(async (named: string | undefined, options: ListOptions) => {
      const api = await context.api();
      const projectId = named === undefined ? undefined : (await findProject(api, named)).id;
      const { event, branch, repo } = options;
      const only = {
        ...(projectId === undefined ? {} : { projectId }),
        ...(options.status === undefined ? {} : { status: statusOf(options.status) }),
        ...(event === undefined ? {} : { event }),
        ...(branch === undefined ? {} : { branch }),
        ...(repo === undefined ? {} : { repository: repo }),
        ...(options.since === undefined ? {} : { from: sinceOf(options.since, context.now()) }),
      };
      const found = await everything(
        (query) => api.call(listWebhookDeliveries, { query: { ...query, ...only } }),
        options.limit,
      );
      context.output.result(found, () => deliveryTable(found, context.now()));
    });
  examples(command, "deliveries list shop --since 24h", "deliveries list --status failed --json");
};

const defineShow: Define = (command, context) => {
  command
    .description("One delivery: what came, and for each project what followed or why nothing did.")
    .argument("<delivery>", "its id")
    .action(async (id: string) => {
      const { data } = await (await context.api()).call(getWebhookDelivery, { params: { id } });
      context.output.result(data, () => deliveryText(data, context.now()));
    });
  examples(command, "deliveries show whd_01J0000000000000000000000A");
};

const defineReplay: Define = (command, context) => {
  command
    .description("Handle a delivery again, with the projects as they are now.")
    .argument("<delivery>", "its id")
    .option("--force", "deploy also what is the newest deployment already, or old")
    .action(async (id: string, options: { force?: boolean }) => {
      const json = { force: options.force ?? false };
      const { data } = await (await context.api()).call(replayWebhookDelivery, { params: { id }, json });
      context.output.result(data, () => replayText(data));
    });
  examples(
    command,
    "deliveries replay whd_01J0000000000000000000000A",
    "deliveries replay whd_01J0000000000000000000000A --force",
  );
};

const defineRefused: Define = (command, context) => {
  command
    .description("Deliveries that were turned away (401, 413, 429), by minute and source. Self-hosted only.")
    .option("--limit <count>", "how many at most", integer, 50)
    .action(async ({ limit }: { limit: number }) => {
      const { data } = await (await context.api()).call(listRefusedDeliveries, { query: { limit } });
      context.output.result(data, () =>
        data.refused.length === 0
          ? `None since ${data.since}.`
          : table(
              ["MINUTE", "SOURCE", "STATUS", "COUNT"],
              data.refused.map((one) => [one.minute, one.source, String(one.status), String(one.count)]),
            ),
      );
    });
  examples(command, "deliveries refused");
};

function statusOf(given: string): Delivery["status"] {
  const status = statuses.find((each) => each === given);
  if (status !== undefined) return status;
  throw usage(`There is no status "${given}".`, `It is one of ${statuses.join(", ")}.`);
}

function sinceOf(given: string, nowMs: number): string {
  const ago = spanMs(given);
  const atMs = ago === undefined ? Date.parse(given) : nowMs - ago;
  if (Number.isNaN(atMs)) throw usage(`"${given}" is no time.`, "Give a span as 24h, or a time in ISO 8601.");
  return new Date(atMs).toISOString();
}
