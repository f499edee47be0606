/**
 * The story of a bootstrap: install what is missing in a detached unit and follow its log, send the routes of now, check
 * that everything answers. Safe to begin anew at any point, by the next owner or by the next bootstrap.
 */
import { eq, sql } from "drizzle-orm";
import { servers } from "../../../shared/db/server-tables.ts";
import { type ServerRow, serverTarget } from "../../../shared/db/server-target.ts";
import {
  LeaseLost,
  type OperationContext,
  type OperationKind,
} from "../../../shared/operations/definition.ts";
import type { Clock } from "../../../shared/ports/clock.ts";
import type { Log } from "../../../shared/ports/log.ts";
import type { ShellTarget } from "../../../shared/ports/shell.ts";
import { applyProxy, type ProxyParts } from "../../../shared/proxy/apply.ts";
import { removeUnitFiles, startUnit, stopUnit, timedOutExit } from "../../../shared/shell/detached.ts";
import { claimFence, FencedOut } from "../../../shared/shell/fence.ts";
import { followUnit } from "../../../shared/shell/follow-unit.ts";
import { inspectServer } from "../check-server.ts";
import { BootstrapFailure, explainBootstrap } from "./failure.ts";
import { installScript } from "./install-script.ts";
import { createLogReader, type LogPosition, leavePhase } from "./read-log.ts";
import {
  type BootstrapEvent,
  type BootstrapState,
  bootstrapKindName,
  bootstrapStates,
  finalBootstrapStates,
} from "./states.ts";

export interface BootstrapParts extends ProxyParts {
  clock: Clock;
  log: Log;
}

type Context = OperationContext<BootstrapState, BootstrapEvent>;

const installSeconds = 30 * 60;
const callMs = 30_000;
const step = "install";

export function createBootstrapKind(parts: BootstrapParts): OperationKind<BootstrapState, BootstrapEvent> {
  return {
    kind: bootstrapKindName,
    initial: "queued",
    states: bootstrapStates,
    final: finalBootstrapStates,
    mechanism: { failed: "fail", cancelled: "cancel", superseded: null },
    run: (context) => asOwner(() => bootstrap(parts, context)),
    undo: (context) => asOwner(() => endUnit(parts, context)),
    explain: explainBootstrap,
  };
}

async function bootstrap(parts: BootstrapParts, context: Context): Promise<void> {
  if (context.state === "queued") await context.transition("start");
  const server = await loadServer(parts, context);
  const target = serverTarget(server, parts.sealer);
  const position = await install(parts, context, target);
  await applyProxy(parts, {
    serverId: server.id,
    transaction: (work) => context.write(work),
    fence: { resource: server.id, token: context.leaseToken },
    signal: context.signal,
  });
  const found = await inspectServer(parts, server);
  if (!found.ready) {
    throw new BootstrapFailure(
      found.code ?? "check_failed",
      found.error ?? "Everything is installed, but engine, git, curl or proxy do not answer the check.",
    );
  }
  const events = leavePhase(position, parts.clock.nowMs());
  await context.transition(
    "finish",
    async (tx) => {
      const change = { bootstrappedAt: sql`now()`, lastCheck: { ...found } };
      await tx.update(servers).set(change).where(eq(servers.id, server.id));
    },
    { events },
  );
  // What stays behind is one folder of a finished unit, and the next bootstrap does not mind it.
  await removeUnitFiles(parts.shell, target, { operationId: context.id, deadlineMs: callMs }).catch(
    (error: unknown) =>
      parts.log.info(
        { err: error, operationId: context.id, serverId: server.id },
        "a bootstrap's log stayed on the server",
      ),
  );
}

/** Starts the unit or attaches to it, and stores its log until it is over. */
async function install(parts: BootstrapParts, context: Context, target: ShellTarget): Promise<LogPosition> {
  const { shell, clock } = parts;
  const { signal } = context;
  const fence = { resource: target.serverId, token: context.leaseToken };
  const unit = { operationId: context.id, step };
  await claimFence(shell, target, { ...fence, deadlineMs: callMs, signal });
  await context.append([], { unitStarted: true });
  await startUnit(shell, target, {
    ...unit,
    argv: ["sh", "-c", installScript, "slipway-bootstrap", target.serverId],
    fence,
    timeoutSeconds: installSeconds,
    deadlineMs: callMs,
    signal,
  });
  let position = storedPosition(context.progress);
  const reader = createLogReader(position);
  const following = followUnit(shell, target, { ...unit, offset: position.offset, clock, signal });
  for (;;) {
    const { done, value } = await following.next();
    if (done === true) {
      if (value.exit === 0) return position;
      throw whyEnded(value, position, reader.tail());
    }
    const read = reader.read(value.chunk, clock.nowMs());
    if (read === null) continue;
    position = read.position;
    await context.append(read.events, { log: position });
  }
}

function whyEnded(
  end: { exit: number | null; bootChanged: boolean },
  position: LogPosition,
  tail: readonly string[],
): BootstrapFailure {
  if (position.refused !== null)
    return new BootstrapFailure(position.refused.code, position.refused.message, tail);
  if (end.exit === timedOutExit) {
    return new BootstrapFailure(
      "timed_out",
      `The installation took longer than ${installSeconds / 60} minutes.`,
      tail,
    );
  }
  if (end.exit === null && end.bootChanged) {
    return new BootstrapFailure("server_restarted", "The server restarted during the installation.", tail);
  }
  const how = end.exit === null ? "was ended by something on the server" : `ended with status ${end.exit}`;
  return new BootstrapFailure("install_failed", `The installation ${how}.`, tail);
}

/** Before `failed` or `cancelled` is written: nothing of it runs any more. */
async function endUnit(parts: BootstrapParts, context: Context): Promise<void> {
  if (context.progress["unitStarted"] !== true) return;
  const target = serverTarget(await loadServer(parts, context), parts.sealer);
  const fence = { resource: target.serverId, token: context.leaseToken };
  const call = { operationId: context.id, deadlineMs: callMs, signal: context.signal };
  await claimFence(parts.shell, target, { ...fence, deadlineMs: callMs, signal: context.signal });
  const { gone } = await stopUnit(parts.shell, target, { ...call, step });
  if (!gone) throw new BootstrapFailure("not_ended", "The installation does not end on the server.");
  await removeUnitFiles(parts.shell, target, call);
}

async function loadServer(parts: BootstrapParts, context: Context): Promise<ServerRow> {
  const [server] = await parts.db.select().from(servers).where(eq(servers.id, context.subjectId));
  if (server === undefined || server.deletedAt !== null) {
    throw new BootstrapFailure("server_deleted", "The server has been removed.");
  }
  return server;
}

/** A newer owner on the server means that our lease is over, whatever the database says so far. */
async function asOwner(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (cause instanceof FencedOut) throw new LeaseLost({ cause });
    throw cause;
  }
}

function storedPosition(progress: Readonly<Record<string, unknown>>): LogPosition {
  const stored = progress["log"] as LogPosition | undefined;
  return stored ?? { offset: 0, phase: null, phaseStartedMs: 0, refused: null };
}
