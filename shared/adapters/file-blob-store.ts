/**
 * Blobs as files of one folder, named by their digest; the time of a file is when somebody last asked to keep it. What
 * still comes lies beside them under a name of its own and gets its digest's name only when it is whole and on disk.
 * Rejected: blobs in the database (it would hold hundreds of megabytes that no query reads).
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { BlobMissing, type BlobStore, type StoredBlob } from "../ports/blob-store.ts";

const incoming = "incoming-";
const chunkBytes = 262_144;

/** The folder is made with the first blob. */
export function createFileBlobStore(folder: string, now: () => number = Date.now): BlobStore {
  const pathOf = (digest: string) => join(folder, checked(digest));
  const touch = (path: string) => utimes(path, now() / 1_000, now() / 1_000);
  return {
    async put(content) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, `${incoming}${randomBytes(12).toString("hex")}`);
      try {
        const stored = await writeNew(path, content);
        await touch(path);
        await rename(path, pathOf(stored.digest));
        return stored;
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
    async keep(digest) {
      return unlessAbsent(
        touch(pathOf(digest)).then(() => true),
        false,
      );
    },
    async bytes(digest) {
      const found = await unlessAbsent(stat(pathOf(digest)), null);
      if (found === null) throw new BlobMissing(digest);
      return found.size;
    },
    read: (digest) => readChunks(pathOf(digest), digest),
    async sweep(wanted, graceMs) {
      const old = await namesOlderThan(folder, now() - graceMs);
      const digests = old.filter((name) => !name.startsWith(incoming));
      const kept = digests.length === 0 ? new Set<string>() : await wanted(digests);
      let gone = 0;
      for (const name of old.filter((each) => !kept.has(each))) {
        // Asked again: somebody may have kept it while the question was on its way.
        if (await isOlderThan(join(folder, name), now() - graceMs)) {
          await rm(join(folder, name), { force: true });
          gone++;
        }
      }
      return gone;
    },
  };
}

async function writeNew(path: string, content: AsyncIterable<Uint8Array>): Promise<StoredBlob> {
  const file = await open(path, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await writeAll(file, chunk);
    }
    await file.sync();
    return { digest: hash.digest("hex"), bytes };
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let offset = 0; offset < chunk.length; ) {
    offset += (await file.write(chunk, offset)).bytesWritten;
  }
}

async function* readChunks(path: string, digest: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await unlessAbsent(open(path, "r"), null);
  if (file === null) throw new BlobMissing(digest);
  try {
    for (;;) {
      // A buffer of its own for each chunk: whoever reads may still hold the last one.
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(chunkBytes) });
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function namesOlderThan(folder: string, beforeMs: number): Promise<string[]> {
  const names = await unlessAbsent(readdir(folder), []);
  const old: string[] = [];
  for (const name of names) {
    const ours = name.startsWith(incoming) || isDigest(name);
    if (ours && (await isOlderThan(join(folder, name), beforeMs))) old.push(name);
  }
  return old;
}

async function isOlderThan(path: string, beforeMs: number): Promise<boolean> {
  return unlessAbsent(
    stat(path).then(({ mtimeMs }) => mtimeMs < beforeMs),
    false,
  );
}

async function unlessAbsent<T, E>(work: Promise<T>, otherwise: E): Promise<T | E> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return otherwise;
    throw error;
  }
}

function isDigest(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

/** A digest becomes a path, so that it may be nothing else. */
function checked(digest: string): string {
  if (!isDigest(digest)) throw new RangeError("A digest is 64 hex digits.");
  return digest;
}
