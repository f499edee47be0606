/** `slipway cloud`: the account in the cloud that the organization has linked. The token comes from stdin or a hidden question. */
import { deleteCloudLink, getCloudLink, putCloudLink } from "../shared/contract/cloud-link.ts";
import { listProjects } from "../shared/contract/projects.ts";
import { everything } from "./api/connect.ts";
import type { Define } from "./frame/command-table.ts";
import { examples } from "./frame/examples.ts";
import { readSecret } from "./terminal/standard-input.ts";
import { fields } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

export const defineCloud: Define = (command, context) => {
  defineLink(command.command("link"), context);
  defineStatus(command.command("status"), context);
  const unlink = command
    .command("unlink")
    .description("Forget the link. Promoted projects stay in the cloud and are not reached from here.")
    .option("--yes", "do not ask")
    .action(async (options: { yes?: boolean }) => {
      const api = await context.api();
      await context.ask.confirmOrYes("Forget the link to the cloud?", options.yes);
      await api.call(deleteCloudLink);
      context.output.result({ removed: true }, () => "Forgot the link to the cloud.");
    });
  examples(unlink, "cloud unlink --yes");
  examples(command, "cloud link https://slipway.example.com", "cloud status", "deploy shop --cloud");
};

const defineLink: Define = (command, context) => {
  command
    .description("Link the organization to its account in the cloud. The cloud is asked first.")
    .argument("<url>", "address of the cloud")
    .option("--token-stdin", "read the token from stdin")
    .action(async (url: string, options: { tokenStdin?: boolean }) => {
      const api = await context.api();
      const token =
        options.tokenStdin === true
          ? await readSecret()
          : await context.ask.secret("Access token of the organization in the cloud", "--token-stdin");
      const { data } = await api.call(putCloudLink, { json: { url, token } });
      context.output.result(
        data,
        () => `Linked to ${data.organization.name} at ${data.url}. Next: slipway deploy PROJECT --cloud`,
      );
    });
  examples(
    command,
    "cloud link https://slipway.example.com",
    "cloud link https://slipway.example.com --token-stdin < token.txt",
  );
};

const defineStatus: Define = (command, context) => {
  command.description("The linked account, and the projects that live there.").action(async () => {
    const api = await context.api();
    const { data: link } = await api.call(getCloudLink);
    if (link === null) {
      context.output.result(null, () => "Not linked. Link an account with `slipway cloud link URL`.");
      return;
    }
    const all = await everything((query) => api.call(listProjects, { query }));
    const there = all.filter(({ location }) => location === "cloud");
    const projects = there.map(({ id, slug, cloudProjectId }) => ({ id, slug, cloudProjectId }));
    context.output.result({ ...link, projects }, () =>
      fields([
        ["cloud", link.url],
        ["organization", `${link.organization.name} (${link.organization.id})`],
        ["token", `…${link.token.last4}`],
        ["linked", ago(link.createdAt, context.now())],
        ["projects", projects.map(({ slug }) => slug).join(", ") || "none yet"],
      ]),
    );
  });
  examples(command, "cloud status", "cloud status --json");
};
