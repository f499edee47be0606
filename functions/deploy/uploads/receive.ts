/**
 * Takes an archive as it comes and stores it written anew: the stranger's compression and headers end here, so that no
 * other program reads names that this one did not check. Refused while it comes, with nothing left behind; memory holds
 * a few chunks whatever its size.
 */
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { createTarReader, tarEnd, tarHeader, tarPadding } from "../../../shared/adapters/tar-archive.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";
import type { BlobStore, StoredBlob } from "../../../shared/ports/blob-store.ts";
import { createArchiveCheck } from "./archive-rules.ts";

export interface ReceiveOptions {
  store: BlobStore;
  signal: AbortSignal;
  bytesMost?: number;
  unpackedBytesMost?: number;
  stallMs?: number;
}

export interface Received extends StoredBlob {
  entries: number;
  unpackedBytes: number;
}

export async function receiveArchive(
  body: ReadableStream<Uint8Array>,
  { store, signal, bytesMost = limits.uploadBytes, unpackedBytesMost, stallMs }: ReceiveOptions,
): Promise<Received> {
  const counts = { entries: 0, unpackedBytes: 0 };
  let refused: Refusal | undefined;
  /** The first refusal is the reason, whatever the stages around it say when they fall. */
  const noting = async function* <T>(stage: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    try {
      yield* stage;
    } catch (error) {
      if (error instanceof Refusal) refused ??= error;
      throw error;
    }
  };
  let stored: StoredBlob | undefined;
  try {
    await pipeline(
      noting(bounded(body, bytesMost, stallMs ?? limits.uploadStallMs)),
      createGunzip(),
      (tar: AsyncIterable<Uint8Array>) =>
        noting(rewritten(tar, counts, unpackedBytesMost ?? limits.uploadUnpackedBytes)),
      createGzip({ level: 1 }),
      async (kept: AsyncIterable<Uint8Array>) => {
        stored = await store.put(kept);
      },
      { signal },
    );
  } catch (error) {
    throw refused ?? asRefusal(error);
  }
  if (stored === undefined) throw new Error("the archive ended without being stored");
  return { ...stored, ...counts };
}

async function* bounded(
  body: ReadableStream<Uint8Array>,
  bytesMost: number,
  stallMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), stallMs);
      if (done) return;
      bytes += value.length;
      if (bytes > bytesMost) throw tooLarge(bytesMost);
      yield value;
    }
  } catch (error) {
    // The edge counts as well, and its refusal comes through the stream.
    if (error instanceof Refusal) throw error;
    throw new Refusal("validation", "upload_cut_short", "The upload ended before it was whole.", {
      cause: error,
    });
  } finally {
    // Not waited for: a source that stalls may never confirm it.
    reader.cancel().catch(() => undefined);
  }
}

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(
      new Refusal("validation", "upload_stalled", `The upload brought nothing for ${ms / 1_000} seconds.`),
    );
  }, ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function* rewritten(
  tar: AsyncIterable<Uint8Array>,
  counts: { entries: number; unpackedBytes: number },
  unpackedBytesMost: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let pieces: Uint8Array[] = [];
  let open = 0;
  let size = 0;
  let files = 0;
  const check = createArchiveCheck();
  const reader = createTarReader({
    entry(entry) {
      const checked = check(entry);
      counts.entries++;
      if (checked === null) return;
      if (checked.kind !== "directory") files++;
      size = open = checked.kind === "file" ? checked.size : 0;
      if (size > unpackedBytesMost) throw unpacksTooLarge(unpackedBytesMost);
      pieces.push(tarHeader(checked));
    },
    content(chunk) {
      open -= chunk.length;
      pieces.push(chunk);
    },
    contentEnd() {
      if (open !== 0) throw damaged("a file is shorter than its header says");
      pieces.push(tarPadding(size));
    },
    damaged(reason) {
      throw damaged(reason);
    },
  });
  for await (const chunk of tar) {
    counts.unpackedBytes += chunk.length;
    if (counts.unpackedBytes > unpackedBytesMost) throw unpacksTooLarge(unpackedBytesMost);
    reader.write(chunk);
    if (pieces.length > 0) yield Buffer.concat(pieces);
    pieces = [];
  }
  reader.end();
  if (files === 0) throw new Refusal("validation", "archive_empty", "The archive holds no file.");
  yield* pieces;
  yield tarEnd;
}

function tooLarge(most: number): Refusal {
  return new Refusal("too_large", "too_large", `The body must be at most ${most} bytes long.`);
}

function unpacksTooLarge(most: number): Refusal {
  return new Refusal("validation", "archive_too_large", `The archive unpacks to more than ${most} bytes.`);
}

function damaged(reason: string): Refusal {
  return new Refusal("validation", "archive_damaged", "The body is no whole tar archive.", {
    cause: new Error(reason),
  });
}

function asRefusal(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!code.startsWith("Z_")) return error;
  return new Refusal("validation", "archive_damaged", "The body is no whole gzip-compressed tar archive.", {
    cause: error,
  });
}
