/**
 * The folder of one instance, and the guard that lets only one live process own it. The guard is a lock that the
 * kernel releases when its owner dies, however it dies: SQLite's exclusive lock on an empty file (Node has no flock).
 * Rejected: pid files with take-over (two processes can both take over, and a pid means nothing in another container
 * that shares the volume), and a listening socket (its file outlives a killed owner).
 */
import { access, chmod, constants, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StartFailure } from "../domain/start-failure.ts";

/** `platform` runs for long; `tool` is `slipway init` or `token` on a stopped instance and is gone in seconds. */
export type DataFolderPurpose = "platform" | "tool";

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Gives the folder free for the next process. */
  release(): void;
}

export interface DataFolderHolder {
  pid: number;
  purpose: DataFolderPurpose;
  startedAt: string;
}

export interface OpenDataFolderOptions {
  purpose: DataFolderPurpose;
  /** How long to wait while a tool holds the folder. A live platform refuses at once. Default 30 s. */
  waitMs?: number;
  signal?: AbortSignal;
}

const lockName = "platform.lock";
const pollMs = 50;
/** Between taking the lock and writing the holder's record lie microseconds; this is for a machine under load. */
const recordMs = 2_000;

/** Makes the folder when it is absent, and takes its guard. Throws `StartFailure` with the pid of a live holder. */
export async function openDataFolder(path: string, options: OpenDataFolderOptions): Promise<DataFolder> {
  const folder = resolve(path);
  await makeFolder(folder);
  const startMs = Date.now();
  for (;;) {
    options.signal?.throwIfAborted();
    const lock = tryLock(folder);
    if (lock !== undefined) {
      // Not by a descriptor: closing one would drop the lock (fcntl). Nobody else may even read it, or they could lock it.
      await chmod(join(folder, lockName), 0o600);
      await writeHolder(folder, options.purpose);
      return { path: folder, release: () => lock.close() };
    }
    const holder = await readHolder(folder);
    const waitedMs = Date.now() - startMs;
    const patienceMs =
      holder === undefined ? recordMs : holder.purpose === "tool" ? (options.waitMs ?? 30_000) : 0;
    if (waitedMs >= patienceMs) throw inUse(folder, holder);
    await sleep(pollMs, undefined, options.signal === undefined ? {} : { signal: options.signal });
  }
}

/** Who holds the folder now, by its record; asks for no lock, so that it is in nobody's way. */
export async function findHolder(path: string): Promise<DataFolderHolder | undefined> {
  return readHolder(resolve(path));
}

/** SQLite's result codes (sqlite3.h). */
const sqliteBusy = 5;

function tryLock(folder: string): DatabaseSync | undefined {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, lockName), { timeout: 0 });
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return undefined;
    throw new StartFailure(
      "data_folder_unusable",
      `The data folder ${folder} cannot be locked: ${messageOf(error)}. It must be writable by this user and lie on a file system with locks.`,
      { cause: error },
    );
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    const firstMade = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (firstMade !== undefined) await openParents(firstMade, folder);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartFailure(
      "data_folder_unusable",
      `The data folder ${folder} cannot be made or written: ${messageOf(error)}. Give it to this user, or set SLIPWAY_DATA_DIR to another folder.`,
      { cause: error },
    );
  }
}

/** As root the database runs under another uid, which has to pass through every directory made here, whatever the umask. */
async function openParents(firstMade: string, folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (let directory = folder; directory.length >= firstMade.length; directory = dirname(directory)) {
    await chmod(directory, 0o711);
  }
}

async function writeHolder(folder: string, purpose: DataFolderPurpose): Promise<void> {
  const holder: DataFolderHolder = { pid: process.pid, purpose, startedAt: new Date().toISOString() };
  const file = join(folder, "platform.json");
  await writeFile(`${file}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** The record may still be that of a dead holder for a moment: the lock is taken first, then written. */
async function readHolder(folder: string): Promise<DataFolderHolder | undefined> {
  const text = await readFile(join(folder, "platform.json"), "utf8").catch(() => "{}");
  const holder = JSON.parse(text) as Partial<DataFolderHolder>;
  if (typeof holder.pid !== "number" || (holder.purpose !== "platform" && holder.purpose !== "tool"))
    return undefined;
  if (!isAlive(holder.pid)) return undefined;
  return { pid: holder.pid, purpose: holder.purpose, startedAt: String(holder.startedAt) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function inUse(folder: string, holder: DataFolderHolder | undefined): StartFailure {
  const who =
    holder === undefined ? "another process, perhaps in a container that shares it" : `process ${holder.pid}`;
  return new StartFailure(
    "data_folder_in_use",
    `The data folder ${folder} is in use by ${who}. Stop that one first, or set SLIPWAY_DATA_DIR to another folder.`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
