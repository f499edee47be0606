import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { receiveArchive } from "../../../../functions/deploy/uploads/receive.ts";
import { createFileBlobStore } from "../../../../shared/adapters/file-blob-store.ts";
import { limits } from "../../../../shared/domain/limits.ts";
import { Refusal } from "../../../../shared/domain/refusal.ts";
import { archive, pax, type RawEntry, rawEntry, tar } from "./archives.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "slipway-receive-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const uploads = () => join(folder, "uploads");

interface Bounds {
  bytesMost?: number;
  unpackedBytesMost?: number;
  stallMs?: number;
}

function receive(body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, bounds: Bounds = {}) {
  const store = createFileBlobStore(uploads());
  const signal = AbortSignal.timeout(20_000);
  const stream = body instanceof ReadableStream ? body : ReadableStream.from(body);
  return receiveArchive(stream, { store, signal, ...bounds });
}

/** In small pieces, as a network brings them. */
function* pieces(whole: Uint8Array, size = 700): Generator<Uint8Array> {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

/** Unpacks what was stored with the tar of this machine. */
async function unpacked(digest: string): Promise<string> {
  const target = await mkdtemp(join(folder, "unpacked-"));
  execFileSync("tar", ["-xzf", join(uploads(), digest), "-C", target]);
  return target;
}

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  const error = await work.then(
    () => new Error("it was taken"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw error;
  expect(await readdir(uploads()).catch(() => [])).toEqual([]);
  return error;
}

describe("an archive that is fine", () => {
  it("is stored with its files, folders, links and what may be run, and nothing else of where it came from", async () => {
    const long = `deep/${"long-folder-name/".repeat(12)}file-with-ümlaut.txt`;
    const got = await receive(
      pieces(
        archive(
          { path: "./", type: "5" },
          { path: "./bin/", type: "5", mode: 0o700 },
          { path: "./bin/run", content: "#!/bin/sh\n", mode: 0o4777 },
          { path: "plain.txt", content: "x".repeat(1_000), mode: 0o600 },
          { path: "empty" },
          pax({ path: long }),
          { path: "short", content: "long name" },
          { path: "same", type: "1", target: "plain.txt" },
          { path: "bin/link", type: "2", target: "../plain.txt" },
        ),
      ),
    );
    expect(got).toMatchObject({ entries: 8, digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const at = await unpacked(got.digest);
    expect((await stat(join(at, "bin/run"))).mode & 0o7777).toBe(0o755);
    expect((await stat(join(at, "plain.txt"))).mode & 0o7777).toBe(0o644);
    expect((await stat(join(at, "plain.txt"))).size).toBe(1_000);
    expect((await stat(join(at, "empty"))).size).toBe(0);
    expect(await readFile(join(at, long), "utf8")).toBe("long name");
    expect(await readFile(join(at, "same"), "utf8")).toBe("x".repeat(1_000));
    expect(await readlink(join(at, "bin/link"))).toBe("../plain.txt");
  });

  it("has the same digest whoever packed it", async () => {
    const one = await receive([archive({ path: "a", content: "1", mode: 0o644 })]);
    const two = await receive([archive({ path: "./a", content: "1", mode: 0o600 })]);
    expect(two.digest).toBe(one.digest);
    expect(await readdir(uploads())).toEqual([one.digest]);
  });

  it("may be packed by the tar of the system", async () => {
    const packed = execFileSync("tar", ["-czf", "-", "-C", import.meta.dirname, "."]);
    const at = await unpacked((await receive(pieces(packed))).digest);
    const name = "receive.test.ts";
    expect(await readFile(join(at, name))).toEqual(await readFile(join(import.meta.dirname, name)));
  });
});

const attacks: [string, RawEntry[], RegExp][] = [
  ["an absolute path", [{ path: "/etc/passwd", content: "x" }], /"\/etc\/passwd" has an absolute path/],
  ["a path that leads up", [{ path: "a/../../b", content: "x" }], /"a\/\.\.\/\.\.\/b" has a path with/],
  ["`..` itself", [{ path: "..", type: "5" }], /has a path with/],
  [
    "a long name that leads up",
    [pax({ path: "../x" }), { path: "ok", content: "x" }],
    /"\.\.\/x" has a path/,
  ],
  [
    "a GNU long name that leads up",
    [{ path: "././@LongLink", type: "L", content: "../y\0" }, { path: "ok" }],
    /"\.\.\/y" has a path/,
  ],
  ["a link to an absolute path", [{ path: "l", type: "2", target: "/etc" }], /"l" is a link to an absolute/],
  [
    "a link out of the folder",
    [{ path: "a/l", type: "2", target: "../../x" }],
    /"a\/l" is a link that leads out/,
  ],
  [
    "a link out of the folder through another link",
    [
      { path: "a/here", type: "2", target: "." },
      { path: "l", type: "2", target: "a/here/../.." },
    ],
    /"l" is a link that goes down and up/,
  ],
  [
    "a file below a link",
    [
      { path: "l", type: "2", target: "a" },
      { path: "l/x", content: "x" },
    ],
    /"l\/x" lies below "l"/,
  ],
  [
    "a link in place of a folder",
    [
      { path: "d/x", content: "x" },
      { path: "d", type: "2", target: "." },
    ],
    /"d" is in the archive twice/,
  ],
  [
    "a link with the name of a folder and a slash",
    [
      { path: "d/", type: "2", target: "." },
      { path: "d/x", content: "x" },
    ],
    /lies below "d"/,
  ],
  ["a hard link out of the folder", [{ path: "h", type: "1", target: "../x" }], /"h" has a path with/],
  [
    "a hard link to an absolute path",
    [{ path: "h", type: "1", target: "/etc/shadow" }],
    /"h" has an absolute/,
  ],
  [
    "a hard link to a link",
    [
      { path: "l", type: "2", target: "a" },
      { path: "h", type: "1", target: "l" },
    ],
    /"h" is a hard link to what is no file/,
  ],
  ["a device", [{ path: "dev", type: "3" }], /"dev" is a device/],
  ["a block device", [{ path: "dev", type: "4" }], /"dev" is a device/],
  ["a pipe", [{ path: "p", type: "6" }], /"p" is a pipe/],
  ["a sparse file", [{ path: "s", type: "S", content: "x" }], /"s" is a sparse file/],
  [
    "a sparse file by its extended header",
    [pax({ "GNU.sparse.major": "1", "GNU.sparse.name": "../evil" }), { path: "s", content: "x" }],
    /"s" is a sparse file/,
  ],
  ["a kind that nobody knows", [{ path: "v", type: "V" }], /"v" is a special entry/],
  ["a line break in a name", [{ path: "a\nb", content: "x" }], /"a\?b" has a control character/],
  ["an escape sequence in a name", [{ path: "a\x1b[2Jb", content: "x" }], /has a control character/],
  ["a line break in a link", [{ path: "l", type: "2", target: "a\nb" }], /"l" has a control character/],
  ["a name that is not UTF-8", [{ path: "a\xff", content: "x" }], /is not UTF-8/],
  ["a name that is too long", [pax({ path: `${"a/".repeat(600)}b` }), { path: "x" }], /too long/],
  [
    "the same file twice",
    [
      { path: "a", content: "1" },
      { path: "./a", content: "2" },
    ],
    /"\.\/a" is in the archive twice/,
  ],
];

describe("an archive is refused, naming the entry, with nothing left behind, for", () => {
  it.each(attacks)("%s", async (_, entries, message) => {
    const refusal = await refusalOf(receive(pieces(archive(...entries))));
    expect(refusal.message).toMatch(message);
    expect(refusal).toMatchObject({ kind: "validation", code: "archive_unsafe" });
    // Also behind entries that are fine.
    const later = [{ path: "first.txt", content: "x".repeat(5_000) }, ...entries];
    expect((await refusalOf(receive([archive(...later)]))).code).toBe("archive_unsafe");
  });

  it("a line break in a long name, which readers would take for a shorter one", async () => {
    const text = `${"a".repeat(120)}\nb`;
    const refusal = await refusalOf(receive([archive(pax({ path: text }), { path: "x", content: "x" })]));
    expect(refusal.kind).toBe("validation");
  });

  it("more than 100,000 entries, before it has all come", async () => {
    const entry = (index: number) => rawEntry({ path: `d${index % 7}/f${index}` });
    function* many() {
      for (let index = 0; index <= limits.uploadEntries; index++) yield entry(index);
    }
    const refusal = await refusalOf(receive([gzipSync(Buffer.concat([...many()]), { level: 1 })]));
    expect(refusal.code).toBe("too_many_entries");
  });

  it("a file that says it is larger than all may be", async () => {
    const bomb = gzipSync(rawEntry({ path: "big", size: 3 * 1024 ** 3, content: "x" }));
    expect((await refusalOf(receive([bomb]))).code).toBe("archive_too_large");
  });

  it("a bomb, as soon as it has unpacked too much", async () => {
    const zeros = Buffer.alloc(1_000_000);
    const bomb = gzipSync(tar(...Array.from({ length: 50 }, (_, i) => ({ path: `f${i}`, content: zeros }))));
    expect(bomb.length).toBeLessThan(100_000);
    const refusal = await refusalOf(receive(pieces(bomb), { unpackedBytesMost: 10_000_000 }));
    expect(refusal.code).toBe("archive_too_large");
  });

  it("zeros behind its end, which count as well", async () => {
    const padded = gzipSync(Buffer.concat([tar({ path: "a", content: "x" }), Buffer.alloc(3_000_000)]));
    expect((await refusalOf(receive([padded], { unpackedBytesMost: 2_000_000 }))).code).toBe(
      "archive_too_large",
    );
  });

  it.each([
    ["is no gzip", Buffer.from("hello")],
    ["is compressed twice", gzipSync(archive({ path: "a", content: "x" }))],
    ["is no tar", gzipSync(Buffer.from("hello ".repeat(1_000)))],
    ["was cut off in its compression", archive({ path: "a", content: "x".repeat(5_000) }).subarray(0, -20)],
    ["was cut off in a file", gzipSync(tar({ path: "a", content: "x".repeat(5_000) }).subarray(0, 2_048))],
    ["has a wrong checksum", gzipSync(tar({ path: "a" }).fill("z", 0, 1))],
    ["is empty", Buffer.alloc(0)],
  ])("a body that %s", async (_, body) => {
    const refusal = await refusalOf(receive([body]));
    expect([refusal.kind, refusal.code]).toEqual(["validation", "archive_damaged"]);
  });

  it.each([
    ["no entry", archive()],
    ["folders alone", archive({ path: "a/", type: "5" })],
  ])("%s", async (_, body) => {
    expect((await refusalOf(receive([body]))).code).toMatch(/^archive_(empty|damaged)$/);
  });

  it("more bytes than a body may have", async () => {
    const refusal = await refusalOf(receive(pieces(Buffer.alloc(5_000)), { bytesMost: 1_000 }));
    expect(refusal.kind === "too_large" || refusal.code === "archive_damaged").toBe(true);
    const whole = archive({
      path: "a",
      content: Buffer.from(Array.from({ length: 9_000 }, (__, i) => (i * 7919) % 251)),
    });
    expect((await refusalOf(receive(pieces(whole, 50), { bytesMost: whole.length - 1 }))).kind).toBe(
      "too_large",
    );
    expect(await receive(pieces(whole), { bytesMost: whole.length })).toMatchObject({ entries: 1 });
  });

  it("a body that breaks off, or brings nothing for long", async () => {
    const whole = archive({ path: "a", content: "x".repeat(5_000) });
    async function* broken() {
      yield whole.subarray(0, 20);
      throw new Error("reset");
    }
    expect((await refusalOf(receive(broken()))).code).toBe("upload_cut_short");
    const stalled = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(whole.subarray(0, 20)),
    });
    expect((await refusalOf(receive(stalled, { stallMs: 30 }))).code).toBe("upload_stalled");
  });
});
