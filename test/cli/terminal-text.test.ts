/** Tables, times and hostile text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fields, table } from "../../cli/terminal/table.ts";
import { displayWidth, logText, plainText } from "../../cli/terminal/text.ts";
import { ago, duration } from "../../cli/terminal/time.ts";

describe("text from elsewhere", () => {
  it("has no control character left, whatever it was", () => {
    const hostile = fc.string({
      unit: fc.constantFrom("\x1b", "[", "]", "P", "m", "1", ";", "\x07", "\x9b", "\r", "\n", "a", "\u202e"),
    });
    fc.assert(fc.property(hostile, (text) => !/[\x00-\x08\x0a-\x1f\x7f-\x9f\u202e]/.test(plainText(text))));
    fc.assert(
      fc.property(hostile, (text) => {
        const rest = logText(text, true).replace(/\x1b\[[0-9;:]*m/g, "");
        return !/[\x00-\x08\x0a-\x1f\x7f-\x9f\u202e]/.test(rest);
      }),
    );
  });

  it("of a progress bar is what a person would see last", () => {
    expect(logText("10 %\r50 %\r100 %\r", false)).toBe("100 %");
  });

  it("with a color gives it back at the end of the line", () => {
    expect(logText("\x1b[32mok", true)).toBe("\x1b[32mok\x1b[0m");
    expect(logText("\x1b[32mok", false)).toBe("ok");
  });
});

describe("tables", () => {
  it("stay aligned with wide and with hostile names", () => {
    const text = table(
      ["NAME", "ID"],
      [
        ["日本", "1"],
        ["a\x1b[2Jb\nc", "2"],
        ["plain", "3"],
      ],
    );
    const columns = text.split("\n").map((line) => displayWidth(line.slice(0, line.search(/(ID|\d)$/))));
    expect(new Set(columns)).toEqual(new Set([7]));
  });

  it("leave out fields without a value", () => {
    expect(
      fields([
        ["a", "1"],
        ["long", null],
        ["bcd", "2"],
      ]),
    ).toBe("a    1\nbcd  2");
  });
});

describe("times", () => {
  it.each([
    [0, "just now"],
    [59_000, "59 s ago"],
    [60_000, "1 min ago"],
    [7_200_000, "2 h ago"],
    [259_200_000, "3 days ago"],
    [-90_000, "in 1 min"],
  ])("%i ms read as %s", (ms, text) => {
    expect(ago(new Date(1_000_000_000_000 - ms).toISOString(), 1_000_000_000_000)).toBe(text);
  });

  it.each([
    [840, "840 ms"],
    [12_345, "12.3 s"],
    [125_000, "2 min 5 s"],
  ])("%i ms last %s", (ms, text) => expect(duration(ms)).toBe(text));
});
