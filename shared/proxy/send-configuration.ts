/** Hands one revision to a server in one round trip, and says in our words what the server made of it. */
import type { SecretOpener, ServerRow } from "../db/server-target.ts";
import { serverTarget } from "../db/server-target.ts";
import { Refusal } from "../domain/refusal.ts";
import type { Shell } from "../ports/shell.ts";
import { type Fence, fencedStep } from "../shell/fence.ts";
import { type ApplyVerdict, applyScript } from "./apply-script.ts";
import type { DesiredRoute, Json } from "./configuration.ts";

export interface Prepared {
  server: ServerRow;
  revision: number;
  configuration: Json;
  routes: readonly DesiredRoute[];
}

export interface SendParts {
  shell: Shell;
  sealer: SecretOpener;
}

export const sendMs = 25_000;

/** Answers the revision that the server has now: the sent one, or a newer one which it keeps. */
export async function sendConfiguration(
  parts: SendParts,
  { server, revision, configuration, routes }: Prepared,
  how: { fence?: Fence; signal?: AbortSignal },
): Promise<number> {
  const target = serverTarget(server, parts.sealer);
  const args = [String(revision), server.id, String(routes.length)];
  const ports = routes.map(({ projectId, upstreamPort }) => `${projectId} ${upstreamPort}\n`);
  const call = {
    stdin: ports.join("") + JSON.stringify(configuration),
    deadlineMs: sendMs,
    ...(how.signal === undefined ? {} : { signal: how.signal }),
  };
  const argv = ["sh", "-c", applyScript, "slipway-proxy", ...args] as const;
  const result =
    how.fence === undefined
      ? await parts.shell.run(target, { argv, asRoot: true, ...call })
      : await fencedStep(parts.shell, target, { ...how.fence, script: applyScript, args, ...call });
  const [first = "", ...rest] = result.stdout.split("\n");
  const [verdict, stored] = first.split(" ");
  if (verdict === "applied") return revision;
  // Bounded, since the number comes from the server and goes into the database.
  if (verdict === "superseded" && /^\d{1,15}$/.test(stored ?? "")) return Number(stored);
  throw refusalOf(
    verdict as ApplyVerdict,
    rest.join(" "),
    `exit ${result.code}: ${result.stderr.slice(0, 500)}`,
  );
}

function refusalOf(verdict: ApplyVerdict, reply: string, internal: string): Refusal {
  const refuse = (code: string, message: string) =>
    new Refusal("upstream", code, message, { cause: new Error(internal) });
  switch (verdict) {
    case "foreign":
      return refuse(
        "proxy_foreign",
        "This machine's proxy belongs to another Slipway, or to another entry for it. A bootstrap takes it over.",
      );
    case "busy":
      return refuse("proxy_busy", "The server's proxy is being changed by someone else; try again.");
    case "down":
      return refuse(
        "proxy_down",
        "The proxy on the server does not answer. Run the server's bootstrap, which installs and starts it.",
      );
    case "refused":
      return refuse("proxy_refused", `The server's proxy refused the new routes: ${oneLine(reply)}`);
    default:
      return refuse("proxy_failed", "The proxy could not be configured on the server.");
  }
}

function oneLine(reply: string): string {
  return reply
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 300);
}
