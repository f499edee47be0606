/**
 * Changes what a server serves (decision 0003): the change and the next revision in one transaction that locks the
 * server's row, then one script on the server. Nothing is locked while the server is being asked. When the server does
 * not take it, the change is taken back by `revert`, as one more change with a revision of its own.
 * Rejected: holding the transaction open over SSH (a dead server would hold database connections).
 */
import { eq, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/database.ts";
import { servers } from "../db/server-tables.ts";
import type { SecretOpener } from "../db/server-target.ts";
import { notFound } from "../domain/refusal.ts";
import { type Shell, ShellFailure } from "../ports/shell.ts";
import { type Fence, FencedOut } from "../shell/fence.ts";
import { proxyConfiguration } from "./configuration.ts";
import { desiredRoutes } from "./desired-state.ts";
import { type Prepared, sendConfiguration, sendMs } from "./send-configuration.ts";

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

async function prepare(
  parts: ProxyParts,
  request: ProxyRequest,
  change: ProxyRequest["change"],
  aboveRevision = 0,
): Promise<Prepared> {
  const transaction = request.transaction ?? ((work) => parts.db.transaction(work));
  let prepared: Prepared | undefined;
  await transaction(async (tx) => {
    prepared = await changeRoutes(parts, tx, request.serverId, change, aboveRevision);
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
  aboveRevision: number,
): Promise<Prepared> {
  const [server] = await tx
    .update(servers)
    .set({ proxyRevision: sql`greatest(${servers.proxyRevision}, ${aboveRevision}) + 1` })
    .where(eq(servers.id, serverId))
    .returning();
  if (server === undefined) throw notFound();
  await change?.(tx);
  const routes = await desiredRoutes(tx, serverId, parts.baseDomain);
  const options = { acmeDirectory: parts.acmeDirectory, publicHttpsPort: server.httpsPort };
  const configuration = proxyConfiguration(routes, options);
  return { server, revision: server.proxyRevision, routes, configuration };
}

/**
 * A server with a newer revision than the database counts has outlived it: the database was restored from a backup.
 * Then the count goes on above the server's, or every later change would be taken for an old one, silently.
 */
async function deliver(parts: ProxyParts, prepared: Prepared, request: ProxyRequest): Promise<ProxyOutcome> {
  const stored = await sendOrAskAgain(parts, prepared, request);
  if (stored <= prepared.revision) return { revision: prepared.revision, applied: true };
  const [row] = await parts.db
    .select({ revision: servers.proxyRevision })
    .from(servers)
    .where(eq(servers.id, request.serverId));
  if (row === undefined || stored <= row.revision) return { revision: prepared.revision, applied: false };
  const above = await prepare(parts, request, undefined, stored);
  const revision = await sendOrAskAgain(parts, above, request);
  return { revision: above.revision, applied: revision === above.revision };
}

/** Sending the same revision twice does no harm, so a lost answer is asked for once more. */
async function sendOrAskAgain(parts: ProxyParts, prepared: Prepared, request: ProxyRequest): Promise<number> {
  try {
    return await sendConfiguration(parts, prepared, request);
  } catch (error) {
    if (!(error instanceof ShellFailure) || error.reason !== "connection_lost") throw error;
    return await sendConfiguration(parts, prepared, request);
  }
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
    await Promise.allSettled([
      sendConfiguration(parts, prepared, { ...request, signal: AbortSignal.timeout(sendMs) }),
    ]);
}

const neverRan: ReadonlySet<string> = new Set(["unreachable", "host_key_changed", "authentication", "sudo"]);
