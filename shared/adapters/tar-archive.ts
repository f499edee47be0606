/**
 * Tar archives as a sequence of entries, and entries as tar. Reading is a push: each chunk is worked off before `write`
 * returns, so that memory holds one chunk however large the archive is. What is written has names, kinds, contents and
 * one bit of the mode, and nothing else of where it came from.
 */
import { Header, Parser, Pax, type ReadEntry } from "tar";

export type TarKind = "file" | "directory" | "symbolic_link" | "hard_link" | "other";

export interface TarEntry {
  kind: TarKind;
  /** As the archive names the kind. */
  type: string;
  path: string;
  /** Of a link. */
  target: string;
  executable: boolean;
  size: number;
}

export interface TarVisitor {
  entry(entry: TarEntry): void;
  /** Content of the last file. */
  content(chunk: Uint8Array): void;
  /** The last file is complete. */
  contentEnd(): void;
  /** The archive is no tar, or damaged. Must throw. */
  damaged(reason: string): never;
}

export interface TarReader {
  /** After the archive's own end the rest is passed over. */
  write(chunk: Uint8Array): void;
  end(): void;
}

/** What a visitor throws comes out of `write` or `end`; nothing may be written afterwards. */
export function createTarReader(visitor: TarVisitor): TarReader {
  const blocks = inWholeBlocks();
  let over = false;
  let begun = false;
  let sparse = false;
  const parser = new Parser({ brotli: false, zstd: false, maxMetaEntrySize: metaBytesMost });
  parser.on("warn", (code: string, message: string | Error) =>
    visitor.damaged(`${code}: ${String(message)}`),
  );
  parser.on("eof", () => {
    over = true;
  });
  parser.on("meta", (text: string) => {
    if (!isWellFormedPax(text)) visitor.damaged("an extended header cannot be read");
    sparse ||= /^\d+ GNU\.sparse\./m.test(text);
  });
  parser.on("ignoredEntry", (entry: ReadEntry) => visitor.entry({ ...shape(entry), kind: "other" }));
  parser.on("entry", (entry: ReadEntry) => {
    const shaped = sparse ? { ...shape(entry), kind: "other" as const, type: "SparseFile" } : shape(entry);
    sparse = false;
    visitor.entry(shaped);
    const isFile = shaped.kind === "file";
    entry.on("end", () => {
      if (isFile) visitor.contentEnd();
    });
    entry.on("data", (chunk: Buffer) => {
      if (isFile) visitor.content(chunk);
    });
  });
  return {
    write(chunk) {
      if (over) return;
      const whole = blocks.take(chunk);
      if (whole.length === 0) return;
      // The parser would unpack it once more by itself, past every count.
      if (!begun && whole[0] === 0x1f && whole[1] === 0x8b) visitor.damaged("it is compressed twice");
      begun = true;
      parser.write(whole);
    },
    end() {
      if (!over && blocks.rest() > 0) visitor.damaged("it ends within a block");
      parser.end();
    },
  };
}

/** Long names come in entries of their own. */
const metaBytesMost = 65_536;
const blockBytes = 512;

const kinds: Readonly<Record<string, TarKind>> = {
  File: "file",
  OldFile: "file",
  ContiguousFile: "file",
  Directory: "directory",
  SymbolicLink: "symbolic_link",
  Link: "hard_link",
};

function shape(entry: ReadEntry): TarEntry {
  return {
    kind: kinds[entry.type] ?? "other",
    type: entry.type,
    path: entry.path,
    target: entry.linkpath ?? "",
    executable: ((entry.mode ?? 0) & 0o111) !== 0,
    size: entry.size,
  };
}

/** The parser passes over records that it cannot read, such as a name with a line break, and takes a shorter name. */
function isWellFormedPax(text: string): boolean {
  if (!/^\d+ [^=\n]+=/.test(text)) return true;
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.every((line) => Number.parseInt(line, 10) === Buffer.byteLength(line) + 1);
}

/** The parser joins names chunk by chunk; a character that lies across two of them would be lost. */
function inWholeBlocks(): { take(chunk: Uint8Array): Buffer; rest(): number } {
  let left = Buffer.alloc(0);
  return {
    take(chunk) {
      const all = left.length === 0 ? Buffer.from(chunk) : Buffer.concat([left, chunk]);
      const whole = all.length - (all.length % blockBytes);
      left = all.subarray(whole);
      return all.subarray(0, whole);
    },
    rest: () => left.length,
  };
}

/** The header of an entry; the content of a file follows, then `tarPadding` of its size. */
export function tarHeader(entry: Omit<TarEntry, "type">): Uint8Array {
  const isDirectory = entry.kind === "directory";
  const values = {
    path: isDirectory ? `${entry.path}/` : entry.path,
    mode: isDirectory || entry.executable ? 0o755 : 0o644,
    uid: 0,
    gid: 0,
    size: entry.kind === "file" ? entry.size : 0,
    mtime: new Date(0),
    type: typeNames[entry.kind],
    linkpath: entry.target,
    uname: "root",
    gname: "root",
  };
  const header = new Header(values);
  const needsPax = header.encode();
  const block = header.block ?? Buffer.alloc(0);
  if (!needsPax) return block;
  const { path, linkpath, size, mtime } = values;
  const long = new Pax(linkpath === "" ? { path, size, mtime } : { path, linkpath, size, mtime });
  return Buffer.concat([long.encode(), block]);
}

const typeNames = {
  file: "File",
  directory: "Directory",
  symbolic_link: "SymbolicLink",
  hard_link: "Link",
  other: "Unsupported",
} as const;

export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);
}

export const tarEnd: Readonly<Uint8Array> = new Uint8Array(2 * blockBytes);
