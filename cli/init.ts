/**
 * `slipway init`: makes the first organization, its owner and a token, directly on the data folder or `DATABASE_URL`,
 * also while the platform runs. On an instance that has an organization it changes nothing and exits with 2.
 */
import { currentUrl, storeLogin } from "./api/credentials.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { withRefusals } from "./frame/offline-failure.ts";
import { readSecret } from "./terminal/standard-input.ts";

interface InitOptions {
  org?: string;
  email?: string;
  passwordStdin?: boolean;
  login?: boolean;
}

export const defineInit: Define = (command, context) => {
  command
    .option("--org <name>", "name of the organization")
    .option("--email <address>", "e-mail address of its owner")
    .option("--password-stdin", "read the owner's password from stdin")
    .option("--login", "remember the new token for the following commands")
    .action((options: InitOptions) => init(context, options));
  examples(
    command,
    "init",
    "init --org Acme --email me@example.org --password-stdin --json < password.txt",
    "init --org Acme --email me@example.org --login",
  );
};

async function init(context: Context, options: InitOptions): Promise<void> {
  const { ask, output } = context;
  const organization = options.org ?? (await ask.text("Name of the organization", "--org"));
  const email = options.email ?? (await ask.text("Your e-mail address", "--email"));
  const password = options.passwordStdin
    ? await readSecret()
    : await ask.secret("Your password", "--password-stdin");
  const { initOffline, offlineOptions } = await import("../functions/offline.ts");
  const made = await withRefusals(() =>
    initOffline(offlineOptions(context.environment), { organization, email, password }),
  );
  if (options.login) {
    const url = await currentUrl(context.environment);
    await storeLogin(context.environment, { url, token: made.token });
    output.note(`Logged in to ${url}.`);
  }
  output.note("Made the organization and its owner. This is the first token; it is not shown again:");
  output.result(made, () => made.token);
}
