/** `slipway notifications`: what happened, and what is told on which channel. */
import {
  countUnseen,
  listDeliveries,
  listSubscriptions,
  markSeen,
  putSubscription,
} from "../shared/contract/notifications.ts";
import { everything } from "./api/connect.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { usage } from "./frame/failure.ts";
import { integer } from "./frame/number-option.ts";
import { defineChannels, findChannel } from "./notifications-channels.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

export const defineNotifications: Define = (command, context) => {
  defineFeed(command.command("feed"), context);
  defineChannels(command.command("channels"), context);
  defineSubscriptions(command.command("subscriptions"), context);
  defineToggle(command.command("subscribe"), context);
  examples(
    command,
    "notifications feed",
    "notifications channels add email --address me@example.org",
    "notifications subscribe deploy.succeeded ops",
  );
};

const defineFeed: Define = (command, context) => {
  command
    .description("What happened, newest first.")
    .option("--unseen", "only what was not seen yet")
    .option("--limit <count>", "default: 20", integer, 20)
    .option("--all", "what went to any channel, with its status: the sending log")
    .option("--mark-seen", "mark all that is shown as seen")
    .action(async (options: { unseen?: boolean; limit: number; all?: boolean; markSeen?: boolean }) => {
      const api = await context.api();
      const { data } = await api.call(listDeliveries, {
        query: {
          limit: options.limit,
          ...(options.unseen === true ? { unseen: "true" } : {}),
          ...(options.all === true ? { channel: "all" } : {}),
        },
      });
      if (options.markSeen === true) {
        for (const { id, seenAt } of data) if (seenAt === null) await api.call(markSeen, { params: { id } });
      }
      const { data: unseen } = await api.call(countUnseen, {});
      context.output.result(data, () =>
        data.length === 0
          ? "Nothing yet."
          : table(
              ["WHEN", "CATEGORY", "TITLE", "TIMES", "CHANNEL", "STATUS"],
              data.map((one) => [
                ago(one.createdAt, context.now()),
                one.category,
                one.title,
                String(one.count),
                one.channelKind,
                one.channelKind === "in_app" ? (one.seenAt === null ? "new" : "seen") : one.status,
              ]),
            ),
      );
      context.output.note(`${unseen.count} unseen.`);
    });
  examples(
    command,
    "notifications feed",
    "notifications feed --unseen --mark-seen",
    "notifications feed --all",
  );
};

const defineSubscriptions: Define = (command, context) => {
  command.description("What is told on which channel, and what decides it.").action(async () => {
    const api = await context.api();
    const channels = await findChannel.all(api);
    const labels = new Map(channels.map(({ id, label }) => [id, label]));
    const grid = await everything((query) =>
      api.call(listSubscriptions, { query: { ...query, effective: "1" } }),
    );
    context.output.result(grid, () =>
      table(
        ["CATEGORY", "CHANNEL", "TOLD", "DECIDED BY"],
        grid.map((one) => [
          one.category,
          labels.get(one.channelId) ?? one.channelId,
          one.enabled ? "yes" : "no",
          one.source ?? "-",
        ]),
      ),
    );
  });
  examples(command, "notifications subscriptions");
};

const defineToggle: Define = (command, context) => {
  command
    .description("Tell a category on a channel, or no longer with --off.")
    .argument("<category>", "as `deploy.failed`")
    .argument("<channel>", "label or id")
    .option("--off", "do not tell it there")
    .action(async (category: string, named: string, options: { off?: boolean }) => {
      const api = await context.api();
      const { id, label } = await findChannel.one(api, named);
      const wanted = checked({ category, channelId: id, enabled: options.off !== true });
      const { data } = await api.call(putSubscription, { json: wanted });
      context.output.result(data, () => `${data.category} is ${data.enabled ? "" : "not "}told on ${label}.`);
    });
  examples(
    command,
    "notifications subscribe deploy.succeeded ops",
    "notifications subscribe deploy.failed ops --off",
  );
};

/** By the contract's own schema. */
function checked(given: { category: string; channelId: string; enabled: boolean }) {
  const schema = putSubscription.request.body.content["application/json"].schema;
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  throw usage(
    `There is no category "${given.category}".`,
    "`slipway notifications subscriptions` lists all of them.",
  );
}
