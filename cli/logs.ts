/** `slipway logs`: the stored log of a deployment, or the live one until it settles. */
import { getDeploymentLogs } from "../shared/contract/deployments.ts";
import type { Api } from "./api/connect.ts";
import { findDeployment } from "./api/find.ts";
import { followDeployment } from "./api/follow-deployment.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { failUnlessGood } from "./frame/finish.ts";
import { integer } from "./frame/number-option.ts";
import { eventText } from "./terminal/deployment-text.ts";

export const defineLogs: Define = (command, context) => {
  command
    .argument("<target>", "id of a deployment, or a project for its newest one")
    .option("-f, --follow", "stay until the deployment settles; with --json one event a line")
    .option("--since <seq>", "only what comes after this sequence number", integer, 0)
    .action(async (named: string, options: { follow?: boolean; since: number }) => {
      const api = await context.api();
      const { id } = await findDeployment(api, named);
      if (options.follow) await follow(api, context, id, options.since);
      else await stored(api, context, id, options.since);
    });
  examples(command, "logs shop", "logs --follow shop", "logs --follow --json dep_01J0000000000000000000000A");
};

/** With `--json` one array; else each page goes out as it comes, so that a long log needs no memory. */
async function stored(api: Api, { output }: Context, id: string, since: number): Promise<void> {
  const kept: unknown[] = [];
  for (let next: number | undefined = since; next !== undefined; ) {
    const query: { since: number; limit: number } = { since: next, limit: 5_000 };
    const page = await api.call(getDeploymentLogs, { params: { id }, query });
    if (output.json) kept.push(...page.data);
    else
      for (const data of page.data)
        output.text(eventText({ type: "log", seq: data.seq, data }, output) ?? "");
    next = page.nextCursor === null ? undefined : Number(page.nextCursor);
  }
  if (output.json) output.result(kept, () => "");
}

async function follow(api: Api, { output }: Context, id: string, since: number): Promise<void> {
  const settled = await followDeployment(
    api,
    id,
    (event) =>
      output.event({ type: event.type, seq: event.seq, ...event.data }, () => eventText(event, output)),
    since,
  );
  output.text(output.style("bold", `▸ ${settled.status}`));
  failUnlessGood(settled, output.json);
}
