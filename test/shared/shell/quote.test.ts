/** Quoting, tried on the real shells of this machine: what goes in comes out, byte for byte. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commandLine, environmentName, quote, UnquotableError } from "../../../shared/shell/quote.ts";

const shells = ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/busybox"].filter(existsSync);

/** Everything that fits in an argument: any text but NUL and lone surrogates, with the troublemakers often. */
const argument = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }).filter((text) => !text.includes("\0")),
  fc
    .array(
      fc.constantFrom(
        "'",
        '"',
        "\\",
        "\n",
        "\r",
        "$(id)",
        "`id`",
        "$HOME",
        "!",
        "-",
        "--",
        "*",
        "~",
        ";",
        "&",
        "|",
        "\t",
        "é",
        "𝒳",
        "%s",
        "#",
      ),
      {
        maxLength: 12,
      },
    )
    .map((parts) => parts.join("")),
);

describe.each(shells)("a command line read by %s", (shell) => {
  const run = (line: string): Buffer =>
    execFileSync(shell, shell.endsWith("busybox") ? ["sh", "-c", line] : ["-c", line], {
      maxBuffer: 1 << 24,
    });

  it("hands every argument over byte for byte", () => {
    fc.assert(
      fc.property(fc.array(argument, { maxLength: 20 }), (args) => {
        const line = commandLine({ argv: ["printf", "%s\\0", ...args] });
        const expected = args.length === 0 ? "\0" : args.map((each) => `${each}\0`).join("");
        expect(run(line)).toEqual(Buffer.from(expected));
      }),
      { numRuns: 150 },
    );
  });

  it("sets every variable of the environment byte for byte", () => {
    fc.assert(
      fc.property(argument, argument, (first, second) => {
        const script = 'printf "%s\\0%s\\0%s" "$FIRST" "$_second2" "$1"';
        const line = commandLine({
          argv: ["sh", "-c", script, "sh", first],
          env: { FIRST: first, _second2: second },
          noInput: true,
        });
        expect(run(line)).toEqual(Buffer.from(`${first}\0${second}\0${first}`));
      }),
      { numRuns: 50 },
    );
  });
});

describe("what no shell can carry", () => {
  it("is refused: a NUL, a lone surrogate, an empty program", () => {
    expect(() => quote("a\0b")).toThrow(UnquotableError);
    expect(() => quote("\ud800")).toThrow(UnquotableError);
    expect(() => commandLine({ argv: [] })).toThrow(UnquotableError);
    expect(() => commandLine({ argv: [""] })).toThrow(UnquotableError);
  });

  it("is refused as the name of a variable: code, dashes, nothing at all", () => {
    for (const name of ["", "1A", "A-B", "A B", "A=B", "$(id)", "A\n", "É", "-i"]) {
      expect(() => environmentName(name)).toThrow(UnquotableError);
      expect(() => commandLine({ argv: ["true"], env: { [name]: "x" } })).toThrow(UnquotableError);
    }
  });

  it("is refused as a program where it would be read as an assignment", () => {
    expect(() => commandLine({ argv: ["PATH=/tmp"], env: { A: "1" } })).toThrow(UnquotableError);
    expect(() => commandLine({ argv: ["PATH=/tmp"], sudo: true })).toThrow(UnquotableError);
  });

  it("is refused when it is longer than Linux takes in one argument", () => {
    expect(() => commandLine({ argv: ["echo", "x".repeat(128 * 1024)] })).toThrow(/128 KiB/);
    expect(commandLine({ argv: ["echo", "x".repeat(120 * 1024)] }).length).toBeGreaterThan(120 * 1024);
  });

  it("never leaves the quotes of an error to the message: the value is not told", () => {
    expect(() => quote("secret\0")).toThrow(/^(?!.*secret)/);
  });
});

describe("a command as root", () => {
  it("goes through sudo with its environment behind it", () => {
    expect(commandLine({ argv: ["id", "-u"], env: { A: "b c" }, sudo: true })).toBe(
      "sudo -n -- env 'A=b c' 'id' '-u'",
    );
  });
});
