/**
 * `slipway login`: remembers an instance and a token after the instance has accepted it. The token comes from stdin or
 * a hidden question, never from argv, which every user of the machine can read.
 */
import { listOrganizations } from "../shared/contract/organizations.ts";
import { version } from "../shared/contract/system.ts";
import { connectTo } from "./api/connect.ts";
import { baseUrl, currentUrl, storeLogin } from "./api/credentials.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { readSecret } from "./terminal/standard-input.ts";

export const defineLogin: Define = (command, context) => {
  command
    .argument(
      "[url]",
      "address of the instance; default: SLIPWAY_URL, the last one, or http://127.0.0.1:3000",
    )
    .option("--token-stdin", "read the token from stdin")
    .action(async (url: string | undefined, options: { tokenStdin?: boolean }) => {
      const address = url === undefined ? await currentUrl(context.environment) : baseUrl(url);
      warnOfPlainText(address, context);
      const token = options.tokenStdin
        ? await readSecret()
        : await context.ask.secret(`Token for ${address}`, "--token-stdin");
      const login = { url: address, token: token.trim() };
      const found = await confirmed(login, context);
      const path = await storeLogin(context.environment, login);
      context.output.result({ url: address, ...found, path }, () => {
        const organization = found.organization === null ? "" : ` as ${found.organization.name}`;
        return `Logged in to ${address}${organization}.`;
      });
    });
  examples(command, "login https://slipway.example.org", "login --token-stdin < token.txt");
};

/** Asks the instance before anything is written. */
async function confirmed(login: { url: string; token: string }, context: Context) {
  const api = connectTo(login, context);
  const { data } = await api.call(version, {});
  try {
    const organizations = await api.call(listOrganizations, { query: { limit: 1 } });
    const [first] = organizations.data;
    return { version: data.version, organization: first ? { id: first.id, name: first.name } : null };
  } catch (error) {
    // A token that may not read the organization is a good token nevertheless.
    if (error instanceof Failure && error.status === 403) {
      return { version: data.version, organization: null };
    }
    throw error;
  }
}

function warnOfPlainText(address: string, { output }: Context): void {
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return;
  output.note(`Warning: ${address} is not https; the token travels in the clear.`);
}
