/** `slipway server`: the machines that projects run on. */
import { bootstrapServer, checkServer, deleteServer, listServers } from "../shared/contract/servers.ts";
import { everything } from "./api/connect.ts";
import { findServer } from "./api/find.ts";
import type { Server, ServerCheck } from "./api/shapes.ts";
import type { Define } from "./frame/command-table.ts";
import type { Context } from "./frame/context.ts";
import { examples } from "./frame/examples.ts";
import { Failure } from "./frame/failure.ts";
import { defineServerAdd, defineServerProbe } from "./server-add.ts";
import { eventText } from "./terminal/deployment-text.ts";
import { fields, table } from "./terminal/table.ts";
import { ago } from "./terminal/time.ts";

export const defineServer: Define = (command, context) => {
  defineServerProbe(command.command("probe"), context);
  defineServerAdd(command.command("add"), context);
  defineReading(command, context);
  const named = ["<server>", "id or name"] as const;
  const check = command
    .command("check")
    .description("Reach a server and say what is on it; exit code 1 when it cannot take deployments.")
    .argument(...named)
    .action(async (name: string) => {
      const api = await context.api();
      const { id } = await findServer(api, name);
      const { data } = await api.call(checkServer, { params: { id } });
      context.output.result(data, () => checkText(data));
      if (!data.ok)
        throw new Failure("failed", data.code ?? "check_failed", data.error ?? "The check failed.");
      if (!data.ready)
        throw new Failure("failed", "not_ready", "It cannot take deployments yet.", bootstrapHint(name));
    });
  const bootstrap = command
    .command("bootstrap")
    .description(
      "Install what deployments need: engine, git, proxy, backup tool, certificates. Safe to repeat.",
    )
    .argument(...named)
    .action((name: string) => bootstrapNamed(context, name));
  const remove = command
    .command("remove")
    .description("Forget a server. Nothing on it is touched.")
    .argument(...named)
    .option("--yes", "do not ask")
    .action(async (name: string, options: { yes?: boolean }) => {
      const api = await context.api();
      const { id, name: called } = await findServer(api, name);
      await context.ask.confirmOrYes(`Forget the server ${called}?`, options.yes);
      await api.call(deleteServer, { params: { id } });
      context.output.result({ id, removed: true }, () => `Forgot ${called}.`);
    });
  examples(check, "server check web-1", "server check web-1 --json");
  examples(bootstrap, "server bootstrap web-1");
  examples(remove, "server remove web-1 --yes");
  examples(command, "server add web-1 --host 203.0.113.7 --generate-key", "server bootstrap web-1");
};

const defineReading: Define = (command, context) => {
  const list = command
    .command("list")
    .description("Servers of the organization.")
    .action(async () => {
      const api = await context.api();
      const servers = await everything((query) => api.call(listServers, { query }));
      context.output.result(servers, () => serverTable(servers, context.now()));
    });
  const show = command
    .command("show")
    .description("One server.")
    .argument("<server>", "id or name")
    .action(async (name: string) => {
      const server = await findServer(await context.api(), name);
      context.output.result(server, () => serverText(server, context.now()));
    });
  examples(list, "server list", "server list --json");
  examples(show, "server show web-1");
};

/** Asked again while one runs, the API follows that one; a done one may be repeated. */
async function bootstrapNamed({ api: connect, output }: Context, name: string): Promise<void> {
  const api = await connect();
  const { id } = await findServer(api, name);
  for await (const event of api.events(bootstrapServer, { params: { id } })) {
    if (event.type === "complete") settle(event.data, name);
    const text = eventText(event, output);
    if (text !== undefined) output.text(text);
  }
  output.result({ id, bootstrapped: true }, () => `${name} is ready to take deployments.`);
}

function settle(data: Record<string, unknown>, name: string): void {
  const error = data["error"] as { code?: string; message?: string; hint?: string | null } | null | undefined;
  if (!error && data["status"] === "ready") return;
  const { code, message, hint } = error ?? {};
  throw new Failure("failed", code ?? "bootstrap_failed", message ?? `The bootstrap of ${name} failed.`, {
    ...(hint ? { hint } : {}),
  });
}

function bootstrapHint(name: string) {
  return { hint: `Run \`slipway server bootstrap ${name}\`.` };
}

function serverTable(servers: readonly Server[], nowMs: number): string {
  if (servers.length === 0) return "No servers yet. Add one with `slipway server add`.";
  return table(
    ["NAME", "ID", "ADDRESS", "AUTH", "BOOTSTRAPPED"],
    servers.map((one) => [
      one.name,
      one.id,
      `${one.user}@${one.host}:${one.port}`,
      one.auth.kind,
      one.bootstrappedAt === null ? "no" : ago(one.bootstrappedAt, nowMs),
    ]),
  );
}

function serverText(one: Server, nowMs: number): string {
  return fields([
    ["id", one.id],
    ["name", one.name],
    ["address", `${one.user}@${one.host}:${one.port}`],
    ["auth", one.auth.kind],
    ["public key", one.auth.publicKey],
    ["host key", one.hostKey.fingerprint],
    ["public ports", `http ${one.publicPorts.http}, https ${one.publicPorts.https}`],
    ["bootstrapped", one.bootstrappedAt === null ? "no" : ago(one.bootstrappedAt, nowMs)],
    ["added", ago(one.createdAt, nowMs)],
  ]);
}

function checkText(found: ServerCheck): string {
  const disk =
    found.diskFreeMB === null ? null : `${found.diskFreeMB} of ${found.diskTotalMB ?? "?"} MB free`;
  const memory =
    found.memoryAvailableMB === null
      ? null
      : `${found.memoryAvailableMB} of ${found.memoryTotalMB ?? "?"} MB available`;
  return fields([
    ["reachable", found.ok ? "yes" : "no"],
    ["system", found.os],
    ["architecture", found.architecture],
    [
      "engine",
      found.engine === null ? (found.ok ? "none" : null) : `${found.engine.name} ${found.engine.version}`,
    ],
    [
      "proxy",
      found.proxy === null ? (found.ok ? "none" : null) : `${found.proxy.name} ${found.proxy.version}`,
    ],
    ["root rights", found.ok ? (found.sudo ? "yes" : "no, needs root or sudo without a password") : null],
    ["disk", disk],
    ["memory", memory],
    ["clock", found.clockSkewMs === null ? null : `${found.clockSkewMs} ms off`],
    ["ready", found.ready ? "yes" : "no"],
  ]);
}
