/**
 * `slipway project env`: the environment of a project. Values come from stdin, a hidden question or a file, never from
 * argv; the API returns keys and fingerprints only.
 */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { getEnv, putEnv } from "../shared/contract/project-env.ts";
import { findProject } from "./api/find.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { Failure, usage } from "./frame/failure.ts";
import { readSecret, readStandardInput } from "./terminal/standard-input.ts";
import { table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

const named = ["<project>", "id, slug or name"] as const;

export const defineProjectEnv: Define = (command, context) => {
  command.description("The environment of a project. Changes take effect with the next deployment.");
  const get = command
    .command("get")
    .description("Keys with fingerprints of their values. Values are never returned.")
    .argument(...named)
    .action((name: string) => showEnv(context, name));
  const set = command
    .command("set")
    .description("Set one value, from stdin or a hidden question. One trailing newline is dropped.")
    .argument(...named)
    .argument("<key>", "name of the variable")
    .action(async (name: string, key: string) => {
      if (key.includes("=")) {
        throw usage(
          "Values are never taken from the command line.",
          "Pipe it: slipway project env set PROJECT KEY < file",
        );
      }
      const value = context.ask.available
        ? await context.ask.secret(`Value of ${key}`, "stdin")
        : await readSecret();
      await put(context, name, { set: { [key]: value }, unset: [] });
    });
  const unset = command
    .command("unset")
    .description("Remove keys.")
    .argument(...named)
    .argument("<keys...>", "names of variables")
    .action((name: string, keys: string[]) => put(context, name, { set: {}, unset: keys }));
  const import_ = command
    .command("import")
    .description("Set every key of a .env file. Keys that it does not name stay as they are.")
    .argument(...named)
    .argument("<file>", "a .env file, or - for stdin")
    .action(async (name: string, file: string) =>
      put(context, name, { set: await readEnvFile(file), unset: [] }),
    );
  examples(get, "project env get shop");
  examples(set, "project env set shop DATABASE_URL", "project env set shop API_KEY < key.txt");
  examples(unset, "project env unset shop API_KEY OLD_KEY");
  examples(import_, "project env import shop .env", "project env import shop - < .env");
  examples(command, "project env import shop .env", "project env get shop");
};

async function showEnv({ api: connect, output, now }: Context, name: string): Promise<void> {
  const api = await connect();
  const { id } = await findProject(api, name);
  const { data } = await api.call(getEnv, { params: { id } });
  output.result(data, () =>
    data.length === 0
      ? "The environment is empty."
      : table(
          ["KEY", "FINGERPRINT", "CHANGED"],
          data.map(({ key, fingerprint, updatedAt }) => [key, fingerprint, ago(updatedAt, now())]),
        ),
  );
}

async function put(
  { api: connect, output }: Context,
  name: string,
  change: { set: Record<string, string>; unset: string[] },
): Promise<void> {
  const api = await connect();
  const { id, slug } = await findProject(api, name);
  const { data } = await api.call(putEnv, { params: { id }, json: change });
  const touched = Object.keys(change.set).length + change.unset.length;
  output.result(data, () => {
    const what = touched === 1 ? "1 key" : `${touched} keys`;
    return `Changed ${what} of ${slug}. They take effect with the next deployment.`;
  });
}

async function readEnvFile(file: string): Promise<Record<string, string>> {
  const values = Object.entries(parseEnv(await readText(file))) as [string, string][];
  if (values.length === 0) throw new Failure("usage", "nothing_to_import", `${file} names no variable.`);
  return Object.fromEntries(values);
}

async function readText(file: string): Promise<string> {
  if (file === "-") return await readStandardInput();
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Failure("usage", "file_unreadable", `${file} cannot be read.`, { cause: error });
  }
}
