/**
 * `slipway server probe` and `server add`. Nothing is trusted that a person has not seen: the host key that is stored
 * was either given, or presented by the server and confirmed by its fingerprint. Keys and passwords come from a file,
 * from stdin or from a hidden question, never from argv.
 */
import { readFile } from "node:fs/promises";
import { createServer, probeServer } from "../shared/contract/servers.ts";
import type { Api } from "./api/connect.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { Failure, usage } from "./frame/failure.ts";
import { integer } from "./frame/number-option.ts";
import { readSecret } from "./terminal/standard-input.ts";
import { fields } from "./terminal/table.ts";

interface AddOptions {
  host: string;
  port: number;
  user: string;
  key?: string;
  passphraseStdin?: boolean;
  generateKey?: boolean;
  passwordStdin?: boolean;
  hostKey?: string;
  trust?: string;
  httpPort: number;
  httpsPort: number;
}

type Auth =
  | { kind: "key"; privateKey: string; passphrase?: string }
  | { kind: "password"; password: string }
  | { kind: "generated" };

export const defineServerProbe: Define = (command, context) => {
  command
    .description("The host key that an address presents. No credential is offered.")
    .argument("<host>", "host name or address")
    .option("--port <port>", "SSH port", integer, 22)
    .action(async (host: string, options: { port: number }) => {
      const presented = await probe(await context.api(), host, options.port);
      context.output.result(presented, () =>
        fields([
          ["type", presented.type],
          ["fingerprint", presented.fingerprint],
          ["host key", presented.hostKey],
        ]),
      );
    });
  examples(command, "server probe 203.0.113.7", "server probe web-1.example.org --port 2222 --json");
};

export const defineServerAdd: Define = (command, context) => {
  command
    .description("Add a server. Its host key is shown and must be confirmed, or given.")
    .argument("<name>", "how to call it")
    .requiredOption("--host <host>", "host name or address")
    .option("--port <port>", "SSH port", integer, 22)
    .option("--user <user>", "root, or an account with sudo without a password", "root")
    .option("--key <file>", "log in with the private key in this file")
    .option("--passphrase-stdin", "read the passphrase of the private key from stdin")
    .option("--generate-key", "make a key; its public half is printed for authorized_keys")
    .option("--password-stdin", "log in with the password on stdin")
    .option("--host-key <key>", "the server's host key, `<type> <base64>`, as ssh-keyscan prints it")
    .option("--trust <fingerprint>", "trust the presented host key if it has this fingerprint, SHA256:…")
    .option("--http-port <port>", "public http port, where a NAT maps another", integer, 80)
    .option("--https-port <port>", "public https port, where a NAT maps another", integer, 443)
    .action((name: string, options: AddOptions) => add(context, name, options));
  examples(
    command,
    "server add web-1 --host 203.0.113.7 --key ~/.ssh/id_ed25519",
    "server add web-1 --host 203.0.113.7 --generate-key --trust SHA256:uNiVztksCsDhcc0u9e8BrR…",
    "server add web-1 --host 203.0.113.7 --user deploy --password-stdin --host-key 'ssh-ed25519 AAAA…' < password.txt",
  );
};

async function add(context: Context, name: string, options: AddOptions): Promise<void> {
  insistOnOneWay(options, context);
  const api = await context.api();
  const hostKey = options.hostKey ?? (await confirmedHostKey(api, context, options));
  const auth = await readAuth(context, options);
  const { data } = await api.call(createServer, {
    json: {
      name,
      host: options.host,
      port: options.port,
      user: options.user,
      auth,
      hostKey,
      publicPorts: { http: options.httpPort, https: options.httpsPort },
    },
  });
  context.output.result(data, () => {
    const publicKey = data.auth.kind === "generated" ? data.auth.publicKey : null;
    const first = `Added ${data.name} (${data.id}).`;
    if (publicKey === null) return `${first} Next: slipway server bootstrap ${data.name}`;
    return `${first} Add this line to ~${data.user}/.ssh/authorized_keys on it, then run slipway server bootstrap ${data.name}:\n${publicKey}`;
  });
}

/** Before anything is contacted, so that a mistake costs no question and no connection. */
function insistOnOneWay(options: AddOptions, context: Context): void {
  const ways = [options.key, options.generateKey, options.passwordStdin].filter(
    (way) => way !== undefined,
  ).length;
  if (ways > 1) throw usage("Give one of --key, --generate-key and --password-stdin.");
  if (ways === 0 && !context.ask.available) {
    throw usage(
      "One of --key, --generate-key and --password-stdin is required when there is no terminal to ask on.",
    );
  }
  if (options.passphraseStdin && options.key === undefined)
    throw usage("--passphrase-stdin goes with --key.");
  if (options.hostKey !== undefined && options.trust !== undefined) {
    throw usage("Give one of --host-key and --trust.");
  }
  if (options.hostKey === undefined && options.trust === undefined && !context.ask.available) {
    throw usage(
      "--host-key or --trust is required when there is no terminal to ask on.",
      "See the key with `slipway server probe`, and compare it with what the server itself says.",
    );
  }
}

async function confirmedHostKey(api: Api, { ask, output }: Context, options: AddOptions): Promise<string> {
  const presented = await probe(api, options.host, options.port);
  if (options.trust !== undefined) {
    if (sameFingerprint(options.trust, presented.fingerprint)) return presented.hostKey;
    throw new Failure(
      "failed",
      "host_key_mismatch",
      "The server presents another host key than the trusted one.",
      {
        hint: `It presents ${presented.fingerprint} (${presented.type}). Nothing was added.`,
      },
    );
  }
  output.note(
    `${options.host} presents a ${presented.type} key with the fingerprint\n  ${presented.fingerprint}`,
  );
  output.note(
    "Compare it with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the server or with your provider.",
  );
  if (await ask.confirm("Is that the fingerprint of your server?")) return presented.hostKey;
  throw new Failure("usage", "not_confirmed", "Nothing was added.");
}

async function readAuth({ ask }: Context, options: AddOptions): Promise<Auth> {
  if (options.generateKey) return { kind: "generated" };
  if (options.key === undefined) {
    const password = options.passwordStdin
      ? await readSecret()
      : await ask.secret(`Password of ${options.user}@${options.host}`, "--password-stdin");
    return { kind: "password", password };
  }
  const privateKey = await readKey(options.key);
  return options.passphraseStdin
    ? { kind: "key", privateKey, passphrase: await readSecret() }
    : { kind: "key", privateKey };
}

async function readKey(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new Failure("usage", "key_unreadable", `The key file ${path} cannot be read.`, { cause: error });
  }
}

async function probe(api: Api, host: string, port: number) {
  return (await api.call(probeServer, { json: { host, port } })).data;
}

/** With or without the `SHA256:` in front, and with or without base64 padding. */
function sameFingerprint(left: string, right: string): boolean {
  const bare = (value: string) =>
    value
      .trim()
      .replace(/^SHA256:/i, "")
      .replace(/=+$/, "");
  return bare(left) !== "" && bare(left) === bare(right);
}
