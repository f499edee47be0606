/** The form of the house: sizes, names, maps, and what no source may hold. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { codeOf, places, productSources, root, type Source, sources } from "./sources.ts";

/** A file answers one question; more lines than this answer two. */
const mostLines = 300;

/** set-up.mjs runs from a bare clone; a migration is read against all tables at once. */
const oneFile = ["set-up.mjs"];

describe("every source file", () => {
  it(`has at most ${mostLines} lines`, () => {
    const long = sources.map(({ path, text }) => [path, text.split("\n").length - 1] as const);
    expect(long.filter(([path, lines]) => lines > mostLines && !oneFile.includes(path))).toEqual([]);
  });

  it("has a name in kebab-case that says more than what kind of file it is", () => {
    const odd = sources
      .map(({ path }) => path)
      .filter((path) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*\.(ts|tsx|mts|mjs)$/.test(basename(path)));
    const empty = sources
      .map(({ path }) => path)
      .filter((path) => /^(utils?|helpers?|manager|common|index|misc)\./.test(basename(path)))
      .filter((path) => path !== "shared/contract/common.ts");
    expect([...odd, ...empty]).toEqual([]);
  });

  it("says what it decides before its first export", () => {
    expect(saysWhatItDecides("/** Why. */\nexport const a = 1;\n")).toBe(true);
    expect(saysWhatItDecides("export const a = 1;\n/** Late. */\nexport const b = 1;\n")).toBe(false);
    const silent = productSources.filter(({ text }) => !saysWhatItDecides(text)).map(({ path }) => path);
    expect(silent).toEqual([]);
  });

  it("is no barrel", () => {
    expect(isBarrel('export * from "./a.ts";\nexport { b } from "./b.ts";\n')).toBe(true);
    expect(isBarrel('export { b } from "./b.ts";\nexport const c = 1;\n')).toBe(false);
    expect(sources.filter(({ text }) => isBarrel(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe("every folder with sources", () => {
  it("has a README that says what lives there and what may not", () => {
    const folders = new Set(
      productSources.map(({ path }) => dirname(path)).filter((folder) => folder !== "."),
    );
    for (const { path } of sources) if (/^test\/[^/]+\//.test(path)) folders.add("test");
    const bare = [...folders].filter((folder) => !existsSync(join(root, folder, "README.md")));
    expect(bare).toEqual([]);
  });
});

interface Ban {
  rule: string;
  pattern: RegExp;
  /** Looked at with strings and comments, or as bare code. */
  in: "text" | "code";
  /** Where it is allowed, each with its reason in the rule. */
  except: RegExp;
  /** Something that must be found, so that the rule is known to work. */
  sample: string;
}

// The words are put together here so that this file does not break its own rule.
const word = (...parts: string[]) => parts.join("");

const bans: readonly Ban[] = [
  {
    rule: "writes to the console: the platform logs through its port, the CLI prints through its output",
    pattern: /\bconsole\.\w+/,
    in: "code",
    // A person reads what `npm start` and a container print; what the worker prints is its log.
    except: /^(test\/|docs\/|functions\/(local|container)\.ts$|edge\/adapters\/console-log\.ts$)/,
    sample: "console.log(1)",
  },
  {
    rule: "starts processes: only adapters do, and the set-up step and tests",
    pattern: /"(node:)?child_process"/,
    in: "text",
    except: /^(shared\/adapters\/|set-up\.mjs$|test\/)/,
    sample: 'import { spawn } from "node:child_process";',
  },
  {
    rule: "speaks SSH: only the adapter does, and the lab",
    pattern: /from "ssh2"/,
    in: "text",
    except: /^(shared\/adapters\/|test\/)/,
    sample: 'import { Client } from "ssh2";',
  },
  {
    rule: "reads the environment: one typed file of the platform does; the CLI and set-up have their own",
    pattern: /\bprocess\s*\.\s*env\b|\benv\b[^;\n]*from "node:process"/,
    in: "code",
    except:
      /^(sst\.config\.ts$|functions\/configuration\.ts$|functions\/(local|container|offline)\.ts$|cli\/|set-up\.mjs$|test\/)/,
    sample: "const home = process.env.HOME;",
  },
  {
    rule: "leaves work for later",
    pattern: new RegExp(`\\b(${word("TO", "DO")}|${word("FIX", "ME")}|${word("X", "XX")})\\b`),
    in: "text",
    except: /^$/,
    sample: word("// TO", "DO later"),
  },
  {
    rule: "runs a part of the tests only",
    pattern: /\b(it|test|describe)(\.\w+)*\.only\b/,
    in: "code",
    except: /^$/,
    sample: "it.only(name, run)",
  },
  {
    rule: "skips a test for ever: `skipIf` with a reason is the way",
    pattern: /\b(it|test|describe)(\.\w+)*\.(skip|todo|fails)\b(?!If)/,
    in: "code",
    // Without an engine the lab's tests are skipped with the reason printed; with CI=true the run fails instead.
    except: /^test\/lab\/describe-with-lab\.ts$/,
    sample: "describe.skip(name, run)",
  },
  {
    rule: "swallows an error",
    pattern: /\bcatch\s*(\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\s*\)\s*=>\s*\{\s*\}\s*\)/,
    in: "text",
    except: /^$/,
    sample: word("try { go(); } catch", " {}"),
  },
  {
    rule: "turns the checker off",
    pattern: new RegExp(
      `${word("@ts-", "(ignore|nocheck|expect-error)")}|${word("biome-", "ignore")}(?! [\\w/]+: \\S)`,
    ),
    in: "text",
    except: /^$/,
    sample: word("// @ts-", "ignore"),
  },
];

describe("no source file", () => {
  it.each(bans.map((ban) => [ban.rule, ban] as const))("%s", (_, ban) => {
    expect(breaches({ path: "edge/sample.ts", text: ban.sample }, ban)).toHaveLength(1);
    const found = sources.filter(({ path }) => !ban.except.test(path) && path !== "test/tidy/form.test.ts");
    expect(found.flatMap((source) => breaches(source, ban))).toEqual([]);
  });
});

function breaches(source: Source, ban: Ban): string[] {
  return places(ban.in === "code" ? { ...source, text: codeOf(source.text) } : source, ban.pattern);
}

function saysWhatItDecides(text: string): boolean {
  const before = text.slice(0, text.search(/^export\s/m) >>> 0);
  return /^\s*\/\*\*/m.test(before);
}

function isBarrel(text: string): boolean {
  const statements = codeOf(text)
    .split(/;\s*\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
  return (
    statements.length > 0 &&
    statements.every((statement) => /^export\s+(type\s+)?(\*|\{)[\s\S]*\bfrom\s+""$/.test(statement))
  );
}
