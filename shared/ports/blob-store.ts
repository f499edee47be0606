/**
 * Large files that the platform keeps, each under the SHA-256 of its bytes: the same content twice is one file, and a
 * reader can tell whether what it got is whole.
 */
export interface BlobStore {
  /** Stores what comes. Nothing is left of a source that ends with an error. */
  put(content: AsyncIterable<Uint8Array>): Promise<StoredBlob>;
  /** Whether it is there. Where it is, a sweep leaves it alone for its grace time from now on. */
  keep(digest: string): Promise<boolean>;
  /** Its length. Throws `BlobMissing`. */
  bytes(digest: string): Promise<number>;
  /** In chunks, memory flat. Throws `BlobMissing`. */
  read(digest: string): AsyncIterable<Uint8Array>;
  /** Removes what `wanted` does not name and nobody put or kept within `graceMs`. Answers how many went. */
  sweep(
    wanted: (digests: readonly string[]) => Promise<ReadonlySet<string>>,
    graceMs: number,
  ): Promise<number>;
}

export interface StoredBlob {
  /** SHA-256, hex. */
  digest: string;
  bytes: number;
}

export class BlobMissing extends Error {
  constructor(digest: string) {
    super(`There is no blob ${digest}.`);
    this.name = "BlobMissing";
  }
}
