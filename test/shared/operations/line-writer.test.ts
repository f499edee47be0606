import fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../../../shared/domain/limits.ts";
import type { NewEvent } from "../../../shared/operations/definition.ts";
import { createLineWriter } from "../../../shared/operations/line-writer.ts";
import { createRedactor } from "../../../shared/operations/redact.ts";
import { manualClock } from "../../manual-clock.ts";

const encoder = new TextEncoder();

/** Writes chunks and answers the lines that were stored, with the offsets that came with them. */
function writerOf(secrets: string[] = [], offset = 0) {
  const clock = manualClock();
  const stored: { line: string; offset: number }[] = [];
  const batches: number[] = [];
  const append = async (events: NewEvent[], progress?: Record<string, unknown>) => {
    batches.push(events.length);
    for (const event of events) {
      stored.push({ line: String(event.data["line"]), offset: Number(progress?.["offset"]) });
    }
  };
  const redactor = createRedactor(secrets);
  const writer = createLineWriter({
    append,
    clock,
    redactor,
    stream: "stdout",
    phase: "build",
    offsetKey: "offset",
    offset,
  });
  return { writer, stored, batches, clock, lines: () => stored.map(({ line }) => line) };
}

function chunksOf(bytes: Uint8Array, cuts: number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

test("lines are the same however the bytes are cut, also within a character", async () => {
  const text = fc.array(
    fc.string({ unit: "grapheme" }).map((line) => line.replace(/[\n\r\v\f\u0085\u2028\u2029\u0000]/g, "")),
  );
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat()), fc.boolean(), async (lines, cuts, windows) => {
      const { writer, lines: stored } = writerOf();
      const bytes = encoder.encode(lines.map((line) => line + (windows ? "\r\n" : "\n")).join(""));
      for (const chunk of chunksOf(bytes, cuts)) {
        await writer.write(chunk);
      }
      await writer.end();
      expect(stored()).toEqual(lines);
    }),
  );
});

test("the offset stored with a batch lies behind its last complete line, so a new owner loses and repeats nothing", async () => {
  const lines = fc.array(
    fc
      .string({ unit: "grapheme", maxLength: 8 })
      .map((line) => line.replace(/[\n\r\v\f\u0085\u2028\u2029\u0000]/g, "")),
    { minLength: 1 },
  );
  await fc.assert(
    fc.asyncProperty(lines, fc.nat(), async (all, breaks) => {
      const bytes = encoder.encode(`${all.join("\n")}\n`);
      const first = writerOf();
      await first.writer.write(bytes.subarray(0, breaks % bytes.length));
      await first.writer.flush();
      const offset = first.stored.at(-1)?.offset ?? 0;
      const second = writerOf([], offset);
      await second.writer.write(bytes.subarray(offset));
      await second.writer.end();
      expect([...first.lines(), ...second.lines()]).toEqual(all);
    }),
  );
});

test("of a progress bar only its last state is kept, at any length", async () => {
  const { writer, lines } = writerOf();
  for (let percent = 0; percent <= 100; percent++) {
    await writer.write(encoder.encode(`\rDownloading ${percent}% ${"#".repeat(1_000)}`));
  }
  await writer.write(encoder.encode("\r"));
  await writer.write(encoder.encode("Downloaded\r"));
  await writer.write(encoder.encode("\nnext\r\n"));
  await writer.end();
  expect(lines()).toEqual(["Downloaded", "next"]);
});

test("control sequences stay, line breaks of every alphabet do not", async () => {
  const { writer, lines } = writerOf();
  await writer.write(encoder.encode("\u001b[31mred\u001b[0m\u0007 a\u2028b\u2029c\u0085d\ve\ff\u0000g\n"));
  await writer.end();
  expect(lines()).toEqual(["\u001b[31mred\u001b[0m\u0007 a b c d e f\uFFFDg"]);
});

test("a line of any length is capped and says how much is missing", async () => {
  const { writer, lines } = writerOf();
  for (let part = 0; part < 100; part++) {
    await writer.write(encoder.encode("é".repeat(10_000)));
  }
  await writer.write(encoder.encode("\nshort"));
  await writer.end();
  const [long, short] = lines();
  expect(long).toBe(
    `${"é".repeat(limits.logLineBytes / 2)} … [${2_000_000 - limits.logLineBytes} more bytes cut]`,
  );
  expect(short).toBe("short");
});

test("a secret is redacted in every form, however the bytes are cut", async () => {
  const secret = "p4ss'w\"ö/rd+ &\\x";
  const forms = [
    secret,
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
    Buffer.from(secret).toString("hex"),
    encodeURIComponent(secret),
    new URLSearchParams({ a: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  ];
  for (const form of forms) {
    const { writer, lines } = writerOf([secret]);
    for (const byte of encoder.encode(`before ${form} after\n`)) {
      await writer.write(Uint8Array.of(byte));
    }
    await writer.end();
    expect(lines()).toEqual(["before [redacted] after"]);
  }
});

test("a secret cut by a chunk's border anywhere is redacted: plain, in base64 and URL-encoded", async () => {
  // Printable and without what a log line cannot hold; long enough to be looked for.
  const secrets = fc
    .string({ unit: "grapheme-ascii", minLength: limits.secretLength, maxLength: 40 })
    .filter((secret) => secret.trim().length >= limits.secretLength && !"[redacted]".includes(secret.trim()));
  const encode = [
    (secret: string) => secret,
    (secret: string) => Buffer.from(secret).toString("base64"),
    (secret: string) => encodeURIComponent(secret),
  ];
  await fc.assert(
    fc.asyncProperty(secrets, fc.constantFrom(...encode), fc.boolean(), async (secret, form, flushes) => {
      const bytes = encoder.encode(`\u0001${form(secret)}\u0001\n`);
      for (let border = 1; border < bytes.length; border++) {
        const { writer, lines } = writerOf([secret]);
        await writer.write(bytes.subarray(0, border));
        if (flushes) await writer.flush();
        await writer.write(bytes.subarray(border));
        await writer.end();
        expect(lines().join("\n")).not.toContain(form(secret).trim());
        expect(lines().join("\n")).toContain("[redacted]");
      }
    }),
    { numRuns: 60 },
  );
});

test("a secret inside a longer base64 text is redacted wherever it begins", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), (before, after) => {
      const secret = "correct horse battery";
      const encoded = Buffer.from(before + secret + after).toString("base64");
      const shown = createRedactor([secret]).redact(encoded);
      expect(shown).toContain("[redacted]");
      expect(Buffer.from(shown.replace("[redacted]", ""), "base64").toString()).not.toContain("horse");
    }),
  );
});

test("of a secret with several lines each line is redacted, and the whole where it stands escaped on one", async () => {
  const key = "-----BEGIN KEY-----\nabcdefghij\nklmnopqrst\n-----END KEY-----\n";
  const { writer, lines } = writerOf([key]);
  await writer.write(encoder.encode(`${key}${JSON.stringify({ key })}\n`));
  await writer.end();
  expect(lines()).toEqual(["[redacted]", "[redacted]", "[redacted]", "[redacted]", '{"key":"[redacted]"}']);
});

test("no part of a secret at the cut of a long line is shown", async () => {
  const secret = "s3cr3t-".repeat(20);
  const { writer, lines } = writerOf([secret]);
  await writer.write(
    encoder.encode(`${"x".repeat(limits.logLineBytes - 10)}${secret}${"y".repeat(10_000)}\n`),
  );
  await writer.end();
  expect(lines()[0]).not.toContain("s3cr3t");
  expect(lines()[0]).toContain("x[redacted] … [");
});

test("a line that comes alone is stored at once; those that follow wait for each other for 100 ms, or 500 of them", async () => {
  const { writer, batches, clock } = writerOf();
  await writer.write(encoder.encode("1\n"));
  await clock.advance(0);
  expect(batches).toEqual([1]);
  await writer.write(encoder.encode("2\n"));
  await writer.write(encoder.encode("3\n"));
  await clock.advance(limits.logFlushMs - 1);
  expect(batches).toEqual([1]);
  await clock.advance(1);
  expect(batches).toEqual([1, 2]);
  await writer.write(encoder.encode("x\n".repeat(1_200)));
  expect(batches).toEqual([1, 2, 500, 500]);
  await writer.end();
  expect(batches).toEqual([1, 2, 500, 500, 200]);
});

test("what storing threw is thrown to the writer of the next bytes", async () => {
  const clock = manualClock();
  const append = () => Promise.reject(new Error("fenced out"));
  const writer = createLineWriter({
    append,
    clock,
    redactor: createRedactor([]),
    stream: "stdout",
    phase: "build",
  });
  await writer.write(encoder.encode("one\n"));
  await clock.advance(limits.logFlushMs);
  await expect(writer.write(encoder.encode("two\n"))).rejects.toThrow("fenced out");
  await expect(writer.end()).rejects.toThrow("fenced out");
});
