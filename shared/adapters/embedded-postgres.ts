/**
 * A real Postgres from npm as the platform's own database, reached over a private unix socket only. One left over from
 * a killed platform is adopted; one that dies while we run is started again. Rejected: PGlite (no fsync, 500 MB, one
 * session), a TCP port (needs a password and a free port), pg_ctl (a second process that hides the first one's exit).
 */

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { StartFailure } from "../domain/start-failure.ts";
import type { Log } from "../ports/log.ts";
import type { DataFolder } from "./data-folder.ts";
import { type DatabaseBinaries, placeBinaries, removeOldBinaries } from "./embedded-postgres-binaries.ts";
import { prepareCluster } from "./embedded-postgres-cluster.ts";
import {
  type EmbeddedLayout,
  prepareLayout,
  removeShortDirectory,
  socketUrl,
} from "./embedded-postgres-layout.ts";
import { boundLog } from "./embedded-postgres-log.ts";
import { makeDatabase, probe } from "./embedded-postgres-probe.ts";
import {
  adoptPostmaster,
  endOrphans,
  findPostmaster,
  type Postmaster,
  removeStaleLocks,
  startPostmaster,
  stopPostmaster,
} from "./embedded-postgres-process.ts";

export interface EmbeddedPostgres {
  /** `postgres://slipway@localhost:5432/slipway?host=<socket directory>`: for `pg`, pg-boss and drizzle alike. */
  readonly url: string;
  /** True: it was left running by a killed platform and goes on, caches warm. */
  readonly adopted: boolean;
  /** Of the postmaster now; another one after a crash. */
  pid(): number;
  /** Ends it cleanly. Close the pools first; sessions that remain are cut. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Holding it proves that no other platform starts or stops this database. */
  folder: DataFolder;
  log: Log;
  /** Ends the waiting of a start; afterwards use `stop()`. */
  signal?: AbortSignal;
  /** The database died too often and stays down. */
  onLost?: (reason: Error) => void;
}

const readyMs = 30_000;
const probeMs = 2_000;
/** A crash loop ends here: five restarts within ten minutes. */
const restartsMost = 5;
const restartWindowMs = 10 * 60_000;
/** After a start that failed, which counts as one of them. */
const restartAgainMs = 1_000;
const logCheckMs = 5 * 60_000;

interface Place {
  layout: EmbeddedLayout;
  binaries: DatabaseBinaries;
  log: Log;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, signal } = options;
  const layout = await prepareLayout(options.folder.path);
  const place: Place = { layout, binaries: await placeBinaries(layout), log };
  await prepareCluster(layout, place.binaries);
  await boundLog(layout.logFile);
  const { postmaster, adopted } = await adoptOrStart(place, signal);
  await orStop(place, postmaster, async () => {
    await makeDatabase(layout.socketDirectory);
    await removeOldBinaries(layout, place.binaries);
  });
  const keeper = keepRunning(place, postmaster, options.onLost);
  return { url: socketUrl(layout.socketDirectory), adopted, pid: keeper.pid, stop: keeper.stop };
}

async function adoptOrStart(place: Place, signal: AbortSignal | undefined) {
  const { layout, binaries, log } = place;
  const found = await findPostmaster(layout, binaries.postgres);
  if (found !== undefined) {
    const postmaster = adoptPostmaster(found, layout);
    if (found.same && (await isReady(place, postmaster, signal))) {
      log.info({ pid: found.pid }, "adopted the database that a killed platform left running");
      return { postmaster, adopted: true };
    }
    log.info({ pid: found.pid }, "replacing a database left over from another version or in trouble");
    await stopPostmaster(postmaster, layout);
  }
  return { postmaster: await startReady(place, signal), adopted: false };
}

async function startReady(place: Place, signal: AbortSignal | undefined): Promise<Postmaster> {
  const { layout, binaries } = place;
  if ((await probe(layout.socketDirectory, probeMs)) !== "silent") {
    throw new StartFailure(
      "database_elsewhere",
      `Another process serves the database in ${layout.data}, perhaps in a container that shares it. Stop that one first.`,
    );
  }
  await endOrphans(layout);
  await removeStaleLocks(layout);
  const postmaster = await startPostmaster(layout, binaries.postgres);
  return orStop(place, postmaster, async () => {
    if (await isReady(place, postmaster, signal)) return postmaster;
    throw new StartFailure(
      "database_not_started",
      `The embedded database did not become ready. The end of ${layout.logFile}:\n${await logTail(layout.logFile)}`,
    );
  });
}

/** What fails or is given up after the process was started must not leave it running. */
async function orStop<Result>(
  place: Place,
  postmaster: Postmaster,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await stopPostmaster(postmaster, place.layout);
    throw error;
  }
}

/** False: it ended, or was not ready in time. */
async function isReady(
  place: Place,
  postmaster: Postmaster,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let ended = false;
  postmaster.gone.then(() => {
    ended = true;
  });
  for (const endMs = Date.now() + readyMs; Date.now() < endMs && !ended; ) {
    signal?.throwIfAborted();
    if ((await probe(place.layout.socketDirectory, probeMs)) === "ready") return true;
    await sleep(20);
  }
  return false;
}

/** Starts the database again when it dies, until it is stopped or dies too often. */
function keepRunning(place: Place, first: Postmaster, onLost: EmbeddedPostgresOptions["onLost"]) {
  const stopping = new AbortController();
  let current = first;
  const keeping = (async () => {
    const restarts: number[] = [];
    let failure: unknown;
    for (;;) {
      await Promise.race([current.gone, aborted(stopping.signal)]);
      if (stopping.signal.aborted) return;
      const nowMs = Date.now();
      restarts.push(nowMs);
      const recent = restarts.filter((atMs) => nowMs - atMs < restartWindowMs).length;
      place.log.error({ pid: current.pid, recent }, "the embedded database does not run");
      if (recent > restartsMost)
        throw new Error(`The embedded database died ${recent} times within ten minutes.`, { cause: failure });
      try {
        current = await startReady(place, stopping.signal);
        place.log.info({ pid: current.pid }, "the embedded database runs again");
      } catch (error) {
        stopping.signal.throwIfAborted();
        failure = error;
        place.log.error({ err: error }, "the embedded database did not start again");
        await sleep(restartAgainMs);
      }
    }
  })().catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    const reason = error instanceof Error ? error : new Error(String(error));
    place.log.error({ error: reason }, "the embedded database is lost");
    onLost?.(reason);
  });
  const logTimer = setInterval(() => {
    boundLog(place.layout.logFile).catch((error: unknown) =>
      place.log.warn({ error }, "database log not bounded"),
    );
  }, logCheckMs).unref();
  return {
    pid: () => current.pid,
    async stop() {
      clearInterval(logTimer);
      stopping.abort();
      await keeping;
      const how = await stopPostmaster(current, place.layout);
      if (how === "forced")
        place.log.warn({ pid: current.pid }, "the embedded database had to be ended hard");
      await removeShortDirectory(place.layout);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

async function logTail(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.trim().split("\n").slice(-15).join("\n");
}
