/**
 * The `postgres` process itself: started without a shell or pg_ctl, in a session of its own, so that neither ctrl-C in
 * the terminal nor a killed platform takes it along; found again by the kernel's own record (its working directory is
 * the cluster), since a pid alone may have been reused. Its log goes straight to a file: a pipe would break with us.
 */
import { spawn } from "node:child_process";
import { open, readdir, readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartFailure } from "../domain/start-failure.ts";
import { type EmbeddedLayout, socketName, socketPort } from "./embedded-postgres-layout.ts";

export interface Postmaster {
  readonly pid: number;
  /** Resolves once the process is gone. */
  readonly gone: Promise<void>;
}

/** For a machine of 1 GB: few processes, little memory, everything durable. */
const settings: Record<string, string> = {
  listen_addresses: "",
  max_connections: "60",
  shared_buffers: "32MB",
  fsync: "on",
  synchronous_commit: "on",
  io_method: "sync",
  jit: "off",
  huge_pages: "off",
  max_parallel_workers_per_gather: "0",
  max_logical_replication_workers: "0",
  max_wal_senders: "0",
  wal_level: "minimal",
  max_wal_size: "256MB",
  autovacuum_max_workers: "1",
  unix_socket_permissions: "0700",
  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "%m [%p] ",
};

function postgresArguments(layout: EmbeddedLayout): string[] {
  const place = ["-D", layout.data, "-k", layout.socketDirectory, "-p", String(socketPort)];
  return [...place, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

export async function startPostmaster(layout: EmbeddedLayout, binary: string): Promise<Postmaster> {
  const log = await open(layout.logFile, "a", 0o600);
  try {
    const child = spawn(binary, postgresArguments(layout), {
      ...layout.owner,
      cwd: layout.data,
      detached: true,
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
      stdio: ["ignore", log.fd, log.fd],
    });
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    if (child.pid === undefined) throw new Error("The database process has no pid.");
    return { pid: child.pid, gone };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartFailure(
      "database_not_started",
      `The embedded database ${binary} could not be started: ${reason}. A folder mounted with "noexec" is one cause.`,
      { cause: error },
    );
  } finally {
    await log.close();
  }
}

export interface FoundPostmaster {
  pid: number;
  /** False: other binaries or settings than we would start with, so it is replaced rather than adopted. */
  same: boolean;
}

/** A live database of this very cluster, left over from a killed platform. */
export async function findPostmaster(
  layout: EmbeddedLayout,
  binary: string,
): Promise<FoundPostmaster | undefined> {
  const pid = Number((await readFile(pidFile(layout), "utf8").catch(() => "")).split("\n")[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !(await runsIn(pid, layout.data))) return undefined;
  const executable = await readlink(`/proc/${pid}/exe`).catch(() => "");
  const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const wanted = [binary, ...postgresArguments(layout)].join("\0");
  return { pid, same: executable === binary && line.replace(/\0+$/, "") === wanted };
}

export function adoptPostmaster(found: FoundPostmaster, layout: EmbeddedLayout): Postmaster {
  return { pid: found.pid, gone: waitUntilGone(found.pid, layout) };
}

/**
 * Postgres refuses to start while its lock files name any live pid of the same uid, which after a crash may be a
 * stranger's, or a zombie that a container without an init never collects. Called only when no process runs in the
 * cluster and nothing answers on its socket.
 */
export async function removeStaleLocks(layout: EmbeddedLayout): Promise<void> {
  const socket = join(layout.socketDirectory, socketName);
  for (const file of [pidFile(layout), socket, `${socket}.lock`]) await rm(file, { force: true });
}

/**
 * A session at work does not notice that its postmaster was killed, and a new one refuses to start beside it. There is
 * nothing to wait for: whoever asked is cut off, and recovery undoes what was not committed. Called as `removeStaleLocks`.
 */
export async function endOrphans(layout: EmbeddedLayout): Promise<void> {
  for (const endMs = Date.now() + orphansMs; Date.now() < endMs; await sleep(20)) {
    const orphans = await sessionsIn(layout.data);
    if (orphans.length === 0) return;
    for (const pid of orphans) endHard(pid);
  }
}

async function sessionsIn(data: string): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const here = await Promise.all(
    pids.map(async (pid) => {
      const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
      return name.trim() === "postgres" && (await runsIn(pid, data)) ? [pid] : [];
    }),
  );
  return here.flat();
}

function endHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** One that waits for a disk ends when that answers. */
const orphansMs = 10_000;
const fastStopMs = 20_000;
const immediateStopMs = 5_000;

/** Fast shutdown: sessions are ended, everything is written. Immediate when that takes too long; recovery heals it. */
export async function stopPostmaster(
  postmaster: Postmaster,
  layout: EmbeddedLayout,
): Promise<"clean" | "forced"> {
  await signalPostmaster(postmaster.pid, "SIGINT", layout);
  if (await within(postmaster.gone, fastStopMs)) return "clean";
  await signalPostmaster(postmaster.pid, "SIGQUIT", layout);
  if (await within(postmaster.gone, immediateStopMs)) return "forced";
  throw new Error(`The database process ${postmaster.pid} does not end.`);
}

async function signalPostmaster(pid: number, signal: NodeJS.Signals, layout: EmbeddedLayout): Promise<void> {
  if (await runsIn(pid, layout.data)) process.kill(pid, signal);
}

async function within(done: Promise<void>, deadlineMs: number): Promise<boolean> {
  const deadline = new AbortController();
  const late = sleep(deadlineMs, false, { signal: deadline.signal }).catch(() => false);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    deadline.abort();
  }
}

/** For a process that is not our child, and thus has no exit event. */
async function waitUntilGone(pid: number, layout: EmbeddedLayout): Promise<void> {
  while (await runsIn(pid, layout.data)) await sleep(250, undefined, { ref: false });
}

/** The postmaster and its sessions work inside their cluster; nothing else does. Absent, ended and zombie processes have no such link. */
async function runsIn(pid: number, data: string): Promise<boolean> {
  return (await readlink(`/proc/${pid}/cwd`).catch(() => "")) === data;
}

function pidFile(layout: EmbeddedLayout): string {
  return join(layout.data, "postmaster.pid");
}
