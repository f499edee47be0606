/**
 * Which entries an uploaded archive may have: files, folders, and links that stay inside. Every name is judged before a
 * byte behind it is kept. No entry may lie below a link, and a link goes up first and then only down, so that where it
 * leads can be read from its text alone. Rejected: leaving entries out silently (the user would deploy something else).
 */

import type { TarEntry } from "../../../shared/adapters/tar-archive.ts";
import { limits } from "../../../shared/domain/limits.ts";
import { Refusal } from "../../../shared/domain/refusal.ts";

export type CheckedEntry = Omit<TarEntry, "type">;

export interface ArchiveBounds {
  entries: number;
  nameBytes: number;
  namesBytes: number;
}

/** Answers the entry with its plain name, or null where there is nothing to keep. Throws a `Refusal` that names the entry. */
export type CheckEntry = (entry: TarEntry) => CheckedEntry | null;

export function createArchiveCheck(bounds: ArchiveBounds = standardBounds): CheckEntry {
  const seen = new Map<string, "directory" | "file" | "link">();
  let entries = 0;
  let namesBytes = 0;

  const remember = (path: string, kind: "directory" | "file" | "link") => {
    namesBytes += Buffer.byteLength(path);
    if (namesBytes > bounds.namesBytes)
      throw refusal("too_many_entries", "The names in the archive are too long.");
    seen.set(path, kind);
  };

  const place = (path: string, kind: "directory" | "file" | "link", named: string) => {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      const parent = path.slice(0, at);
      const there = seen.get(parent);
      if (there === undefined) remember(parent, "directory");
      else if (there !== "directory") throw unsafe(named, `lies below ${shown(parent)}, which is no folder`);
    }
    const before = seen.get(path);
    if (before === undefined) remember(path, kind);
    else if (before !== "directory" || kind !== "directory") throw unsafe(named, "is in the archive twice");
  };

  return (entry) => {
    entries++;
    if (entries > bounds.entries) {
      throw refusal("too_many_entries", `The archive has more than ${bounds.entries} entries.`);
    }
    const path = plainPath(entry.path, entry.path, bounds.nameBytes);
    if (entry.kind === "other")
      throw unsafe(entry.path, `is a ${kindInWords(entry.type)}, which is not taken`);
    if (!Number.isSafeInteger(entry.size) || entry.size < 0) throw unsafe(entry.path, "has no sensible size");
    if (path === "") {
      if (entry.kind === "directory") return null;
      throw unsafe(entry.path, "is the folder itself and no folder");
    }
    if (entry.kind === "hard_link") {
      const target = plainPath(entry.target, entry.path, bounds.nameBytes);
      if (seen.get(target) !== "file")
        throw unsafe(entry.path, "is a hard link to what is no file before it");
      place(path, "file", entry.path);
      return { ...entry, path, target };
    }
    if (entry.kind === "symbolic_link") {
      const target = safeTarget(path, entry, bounds.nameBytes);
      place(path, "link", entry.path);
      return { ...entry, path, target };
    }
    place(path, entry.kind, entry.path);
    return { ...entry, path, target: "" };
  };
}

const standardBounds: ArchiveBounds = {
  entries: limits.uploadEntries,
  nameBytes: limits.uploadNameBytes,
  namesBytes: limits.uploadNamesBytes,
};

/** Without `.`, doubled and closing slashes; empty for the folder itself. */
function plainPath(path: string, named: string, nameBytes: number): string {
  refuseOddText(path, named, nameBytes);
  if (path.startsWith("/")) throw unsafe(named, "has an absolute path");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw unsafe(named, "has a path with `..`");
  if (parts.some((part) => Buffer.byteLength(part) > 255)) throw unsafe(named, "has a name that is too long");
  return parts.join("/");
}

/** `../../a/b` is fine where it stays inside; `a/../b` is not, since `a` may be a link. */
function safeTarget(path: string, { target, path: named }: TarEntry, nameBytes: number): string {
  refuseOddText(target, named, nameBytes);
  if (target.startsWith("/")) throw unsafe(named, "is a link to an absolute path");
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const down = parts.findIndex((part) => part !== "..");
  const ups = down < 0 ? parts.length : down;
  if (parts.slice(ups).includes("..")) throw unsafe(named, "is a link that goes down and up again");
  if (ups > path.split("/").length - 1) throw unsafe(named, "is a link that leads out of the folder");
  return parts.length === 0 ? "." : parts.join("/");
}

function refuseOddText(text: string, named: string, nameBytes: number): void {
  if (/\p{Cc}/u.test(text)) throw unsafe(named, "has a control character in its name");
  if (text.includes("\ufffd") || !text.isWellFormed()) throw unsafe(named, "has a name that is not UTF-8");
  if (text === "" || Buffer.byteLength(text) > nameBytes)
    throw unsafe(named, "has no name, or one that is too long");
}

function kindInWords(type: string): string {
  const words: Readonly<Record<string, string>> = {
    FIFO: "pipe",
    CharacterDevice: "device",
    BlockDevice: "device",
    SparseFile: "sparse file",
  };
  return words[type] ?? "special entry";
}

function unsafe(named: string, what: string): Refusal {
  return refusal("archive_unsafe", `${shown(named)} ${what}.`);
}

function refusal(code: string, message: string): Refusal {
  return new Refusal("validation", code, message, { details: [{ path: "body", message }] });
}

/** Fit for a sentence: the name is a stranger's. */
function shown(name: string): string {
  const plain = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029"]/gu, "?");
  return `"${plain.length > 120 ? `${plain.slice(0, 119)}…` : plain}"`;
}
