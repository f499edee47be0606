/**
 * Makes the cluster once: `initdb` into a directory beside, then a rename, so that a killed first start leaves nothing
 * half-made. `initdb` insists on an account for its uid, which 5433 has not: as root it runs under the account
 * `nobody` in a directory that only group 5433 may enter, and the files then change hands.
 */
import { execFile } from "node:child_process";
import { chmod, chown, lchown, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { StartFailure } from "../domain/start-failure.ts";
import type { DatabaseBinaries } from "./embedded-postgres-binaries.ts";
import { type DatabaseOwner, databaseUser, type EmbeddedLayout } from "./embedded-postgres-layout.ts";

const run = promisify(execFile);
const initdbMs = 120_000;

export async function prepareCluster(layout: EmbeddedLayout, binaries: DatabaseBinaries): Promise<void> {
  const version = await readFile(join(layout.data, "PG_VERSION"), "utf8").catch(() => undefined);
  if (version === undefined) return makeCluster(layout, binaries);
  if (version.trim() !== binaries.major) {
    throw new StartFailure(
      "database_version",
      `The database in ${layout.data} is of Postgres ${version.trim()}, and this version of the platform brings Postgres ${binaries.major}. Start the version that made it, export, and import here.`,
    );
  }
}

async function makeCluster(layout: EmbeddedLayout, binaries: DatabaseBinaries): Promise<void> {
  const maker = layout.owner === undefined ? undefined : await findAccount(layout.owner);
  const nursery = join(layout.root, "making");
  const partial = join(nursery, "data");
  await rm(nursery, { recursive: true, force: true });
  await mkdir(partial, { recursive: true, mode: 0o700 });
  if (maker !== undefined) {
    await chown(nursery, 0, maker.gid);
    await chmod(nursery, 0o710);
    await chown(partial, maker.uid, maker.gid);
  }
  await runInitdb(binaries.initdb, partial, maker);
  if (layout.owner !== undefined) await giveAway(partial, layout.owner);
  await rename(partial, layout.data);
  await syncDirectory(layout.root);
  await rm(nursery, { recursive: true, force: true });
}

async function runInitdb(initdb: string, data: string, maker: DatabaseOwner | undefined): Promise<void> {
  const argv = ["-D", data, "-U", databaseUser, "-E", "UTF8", "--locale=C", "--auth=trust"];
  try {
    await run(initdb, argv, {
      ...maker,
      cwd: data,
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
      timeout: initdbMs,
    });
  } catch (error) {
    const detail =
      error instanceof Error && "stderr" in error ? String(error.stderr).trim().slice(-2_000) : "";
    throw new StartFailure(
      "database_not_made",
      `The embedded database could not be made in ${data}: ${detail || String(error)}`,
      { cause: error },
    );
  }
}

/** Uid of an account for `initdb`, with the database's own group. */
async function findAccount(owner: DatabaseOwner): Promise<DatabaseOwner> {
  const accounts = (await readFile("/etc/passwd", "utf8").catch(() => ""))
    .split("\n")
    .map((line) => line.split(":"))
    .map(([name, , uid]) => ({ name, uid: Number(uid) }))
    .filter(({ uid }) => Number.isInteger(uid) && uid > 0);
  const account =
    accounts.find(({ uid }) => uid === owner.uid) ??
    accounts.find(({ name }) => name === "nobody") ??
    accounts[0];
  if (account === undefined) {
    throw new StartFailure(
      "no_account",
      "The embedded database needs one account other than root in /etc/passwd to be made, for instance nobody.",
    );
  }
  return { uid: account.uid, gid: owner.gid };
}

async function giveAway(directory: string, owner: DatabaseOwner): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), owner.uid, owner.gid);
  }
  await chown(directory, owner.uid, owner.gid);
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
