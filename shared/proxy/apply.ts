/**
 * Changes what a server serves (decision 0003): the change and the next revision in one transaction that locks the
 * server's row, then one script on the server. Nothing is locked while the server is being asked. When the server does
 * not take it, the change is taken back by `revert`, as one more change with a revision of its own.
 * Rejected: holding the transaction open over SSH (a dead server would hold database connections).
 */
import { eq, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/database.ts";
import { servers } from "../db/schema.ts";
import { type SecretOpener, type ServerRow, serverTarget } from "../db/server-target.ts";
import { notFound, Refusal } from "../domain/refusal.ts";
import { type Shell, ShellFailure } from "../ports/shell.ts";
import { type Fence, FencedOut, fencedStep } from "../shell/fence.ts";
import { type ApplyVerdict, applyScript } from "./apply-script.ts";
import { type Json, proxyConfiguration } from "./configuration.ts";
import { desiredRoutes } from "./desired-state.ts";

export interface ProxyParts {
  db: Database;
  shell: Shell;
  sealer: SecretOpener;
  /** SLIPWAY_BASE_DOMAIN */
  baseDomain: string;
  /** SLIPWAY_ACME_DIRECTORY */
  acmeDirectory?: string | undefined;
}

export interface ProxyRequest {
  serverId: string;
  /** Changes the desired state: projects.activeDeploymentId, domains, deletedAt. Without one the present state is sent again. */
  change?: (tx: Transaction) => Promise<void>;
  /** Takes the change back when the server did not take it. */
  revert?: (tx: Transaction) => Promise<void>;
  /** Runs the change; the default is a plain transaction. An operation passes its own, fenced by its lease. */
  transaction?: (work: (tx: Transaction) => Promise<void>) => Promise<void>;
  /** For an operation: the resource it has claimed on the server (shared/shell/fence.ts) and its token. */
  fence?: Fence;
  signal?: AbortSignal;
}

export interface ProxyOutcome {
  revision: number;
  /** False: the server already has a newer configuration, which holds this change as well. */
  applied: boolean;
}

/** Throws `Refusal` (kind upstream) or `ShellFailure` after taking the change back, or `FencedOut` without. */
export async function applyProxy(parts: ProxyParts, request: ProxyRequest): Promise<ProxyOutcome> {
  const prepared = await prepare(parts, request, request.change);
  try {
    return await deliver(parts, prepared, request);
  } catch (error) {
    if (error instanceof FencedOut) throw error;
    if (request.revert !== undefined) await takeBack(parts, request, request.revert, error);
    throw error;
  }
}

interface Prepared {
  server: ServerRow;
  revision: number;
  configuration: Json;
}

async function prepare(
  parts: ProxyParts,
  request: ProxyRequest,
  change: ProxyRequest["change"],
): Promise<Prepared> {
  const transaction = request.transaction ?? ((work) => parts.db.transaction(work));
  let prepared: Prepared | undefined;
  await transaction(async (tx) => {
    prepared = await changeRoutes(parts, tx, request.serverId, change);
  });
  if (prepared === undefined) throw new Error("The transaction did not run its work");
  return prepared;
}

/** The row is locked before the change, so that revisions and changes have one order. */
async function changeRoutes(
  parts: ProxyParts,
  tx: Transaction,
  serverId: string,
  change: ProxyRequest["change"],
): Promise<Prepared> {
  const [server] = await tx
    .update(servers)
    .set({ proxyRevision: sql`${servers.proxyRevision} + 1` })
    .where(eq(servers.id, serverId))
    .returning();
  if (server === undefined) throw notFound();
  await change?.(tx);
  const routes = await desiredRoutes(tx, serverId, parts.baseDomain);
  const options = { acmeDirectory: parts.acmeDirectory, publicHttpsPort: server.httpsPort };
  return { server, revision: server.proxyRevision, configuration: proxyConfiguration(routes, options) };
}

/** Sending the same revision twice does no harm, so a lost answer is asked for once more. */
async function deliver(parts: ProxyParts, prepared: Prepared, request: ProxyRequest): Promise<ProxyOutcome> {
  try {
    return await send(parts, prepared, request);
  } catch (error) {
    if (!(error instanceof ShellFailure) || error.reason !== "connection_lost") throw error;
    return await send(parts, prepared, request);
  }
}

const sendMs = 25_000;

async function send(parts: ProxyParts, prepared: Prepared, request: ProxyRequest): Promise<ProxyOutcome> {
  const { server, revision, configuration } = prepared;
  const target = serverTarget(server, parts.sealer);
  const args = [String(revision), server.id];
  const how = {
    stdin: JSON.stringify(configuration),
    deadlineMs: sendMs,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  };
  const result =
    request.fence === undefined
      ? await parts.shell.run(target, {
          argv: ["sh", "-c", applyScript, "slipway-proxy", ...args],
          asRoot: true,
          ...how,
        })
      : await fencedStep(parts.shell, target, { ...request.fence, script: applyScript, args, ...how });
  const [verdict, ...rest] = result.stdout.split("\n");
  switch (verdict as ApplyVerdict) {
    case "applied":
      return { revision, applied: true };
    case "superseded":
      return { revision, applied: false };
    case "foreign":
      throw new Refusal(
        "upstream",
        "proxy_foreign",
        "This machine's proxy belongs to another Slipway, or to another entry for it. A bootstrap takes it over.",
      );
    case "busy":
      throw new Refusal(
        "upstream",
        "proxy_busy",
        "The server's proxy is being changed by someone else; try again.",
      );
    case "down":
      throw new Refusal(
        "upstream",
        "proxy_down",
        "The proxy on the server does not answer. Run the server's bootstrap, which installs and starts it.",
      );
    case "refused":
      throw refused(rest.join(" "));
    default:
      throw new Refusal("upstream", "proxy_failed", "The proxy could not be configured on the server.", {
        cause: new Error(`exit ${result.code}: ${result.stderr.slice(0, 500)}`),
      });
  }
}

function refused(reply: string): Refusal {
  const said = reply
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 300);
  return new Refusal("upstream", "proxy_refused", `The server's proxy refused the new routes: ${said}`);
}

/**
 * The database first. When it is not known whether the server took the change, the state of now is sent as well; that
 * this fails too is no second error: the next change of this server carries it.
 */
async function takeBack(
  parts: ProxyParts,
  request: ProxyRequest,
  revert: (tx: Transaction) => Promise<void>,
  reason: unknown,
): Promise<void> {
  const prepared = await prepare(parts, request, revert);
  const outcomeUnknown = reason instanceof ShellFailure && !neverRan.has(reason.reason);
  if (outcomeUnknown)
    await Promise.allSettled([send(parts, prepared, { ...request, signal: AbortSignal.timeout(sendMs) })]);
}

const neverRan: ReadonlySet<string> = new Set(["unreachable", "host_key_changed", "authentication", "sudo"]);
