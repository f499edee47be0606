/**
 * Where the embedded database keeps what, and under which uid it runs. As root: uid and gid 5433, which need no
 * account (Postgres refuses root), or the owner of an existing cluster, so that `sudo` never takes a user's data away.
 * The socket stands in a directory that only this uid and root may enter: that is the whole authentication.
 */
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StartFailure } from "../domain/start-failure.ts";

export interface DatabaseOwner {
  uid: number;
  gid: number;
}

export interface EmbeddedLayout {
  /** `<data folder>/postgres`, real path. */
  root: string;
  data: string;
  logFile: string;
  socketDirectory: string;
  /** Undefined: as whoever runs the platform. */
  owner: DatabaseOwner | undefined;
}

export const socketPort = 5432;
export const databaseUser = "slipway";
export const databaseName = "slipway";

const accountlessOwner: DatabaseOwner = { uid: 5433, gid: 5433 };
/** `sun_path` is 108 bytes with its closing zero. */
const socketPathBytes = 107;
export const socketName = `.s.PGSQL.${socketPort}`;

/** Makes the directories of the embedded database. The caller holds the guard of the data folder. */
export async function prepareLayout(dataFolder: string): Promise<EmbeddedLayout> {
  const asRoot = process.getuid?.() === 0;
  const root = join(await realpath(dataFolder), "postgres");
  await mkdir(root, { recursive: true, mode: 0o700 });
  const data = join(root, "data");
  const owner = asRoot ? await ownerOf(data) : undefined;
  if (owner !== undefined) {
    await openFolder(dirname(root));
    await chmod(root, 0o711);
    await requireTraversable(root, owner);
  }
  const socketDirectory = await prepareSocketDirectory(root, owner);
  return { root, data, logFile: join(root, "postgres.log"), socketDirectory, owner };
}

/** For a process that does not own the folder: where the database of a live platform listens. */
export async function findSocketDirectory(dataFolder: string): Promise<string | undefined> {
  const root = join(await realpath(dataFolder), "postgres");
  const direct = join(root, "run");
  return fits(direct) ? direct : readRecord(root);
}

/** The form that `pg`, pg-boss and drizzle all read. */
export function socketUrl(socketDirectory: string, database: string = databaseName): string {
  return `postgres://${databaseUser}@localhost:${socketPort}/${database}?host=${encodeURIComponent(socketDirectory)}`;
}

async function ownerOf(data: string): Promise<DatabaseOwner> {
  const existing = await stat(data).catch(() => undefined);
  if (existing === undefined || existing.uid === 0) return accountlessOwner;
  return { uid: existing.uid, gid: existing.gid };
}

/** The data folder itself is ours to open for passing (not for reading); what holds secrets in it is 0600. */
async function openFolder(folder: string): Promise<void> {
  const { mode, uid } = await stat(folder);
  if (uid === 0) await chmod(folder, (mode & 0o7777) | 0o011);
}

/** A 0700 home directory above the data folder would show up only as a puzzling EACCES from the database. */
async function requireTraversable(directory: string, owner: DatabaseOwner): Promise<void> {
  for (let current = directory; ; current = dirname(current)) {
    const { uid, gid, mode } = await stat(current);
    const bit = uid === owner.uid ? 0o100 : gid === owner.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) {
      throw new StartFailure(
        "data_folder_not_traversable",
        `As root the database runs as uid ${owner.uid}, which cannot pass through ${current}. Run "chmod o+x ${current}", or set SLIPWAY_DATA_DIR to a folder whose parents everybody may pass, such as /var/lib/slipway-platform.`,
      );
    }
    if (current === dirname(current)) return;
  }
}

async function prepareSocketDirectory(root: string, owner: DatabaseOwner | undefined): Promise<string> {
  const direct = join(root, "run");
  if (fits(direct)) {
    await mkdir(direct, { recursive: true, mode: 0o700 });
    await chmod(direct, 0o700);
    if (owner !== undefined) await chown(direct, owner.uid, owner.gid);
    return direct;
  }
  const recorded = await readRecord(root);
  if (recorded !== undefined && (await isPrivate(recorded, owner))) return recorded;
  return makeShortDirectory(root, owner);
}

function fits(directory: string): boolean {
  return Buffer.byteLength(join(directory, socketName)) <= socketPathBytes;
}

/** A long data folder: a short directory with a random name, recorded, so that tools and the next start find it. */
async function makeShortDirectory(root: string, owner: DatabaseOwner | undefined): Promise<string> {
  const parent = [tmpdir(), "/tmp"].find((candidate) => fits(join(candidate, "slipway-123456")));
  if (parent === undefined) {
    throw new StartFailure(
      "socket_path_too_long",
      "No directory with a path short enough for a unix socket was found.",
    );
  }
  const made = await mkdtemp(join(parent, "slipway-"));
  if (owner !== undefined) await chown(made, owner.uid, owner.gid);
  await writeFile(join(root, "socket-directory.new"), made, { mode: 0o600 });
  await rename(join(root, "socket-directory.new"), join(root, "socket-directory"));
  return made;
}

/** Once the database is stopped; a no-op where the data folder's own path is short enough. */
export async function removeShortDirectory({ root, socketDirectory }: EmbeddedLayout): Promise<void> {
  if (socketDirectory === join(root, "run")) return;
  await rm(join(root, "socket-directory"), { force: true });
  await rm(socketDirectory, { recursive: true, force: true });
}

async function readRecord(root: string): Promise<string | undefined> {
  const text = await readFile(join(root, "socket-directory"), "utf8").catch(() => "");
  return text === "" ? undefined : text;
}

/** The temporary directory may have been cleaned up, and then be somebody else's: trust only our own, closed to others. */
async function isPrivate(directory: string, owner: DatabaseOwner | undefined): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  const uid = owner?.uid ?? process.getuid?.();
  return found?.isDirectory() === true && found.uid === uid && (found.mode & 0o077) === 0;
}
