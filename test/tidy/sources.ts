/** Every source file of the repository, read once: what the tidy tests look at. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

export interface Source {
  /** Relative to the root, with slashes. */
  path: string;
  text: string;
}

export const root = join(import.meta.dirname, "../..");

/** Folders whose contents nobody wrote here. */
const foreign = new Set(["node_modules", ".git", ".slipway", ".sst", ".wrangler", "coverage", "dist"]);

export const sources: readonly Source[] = walk(root)
  .filter((path) => /\.(ts|tsx|mts|mjs)$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

export const productSources: readonly Source[] = sources.filter(({ path }) => !path.startsWith("test/"));

/** Text without comments and without what stands in string literals, so that a word in a sentence is no code. */
export function codeOf(text: string): string {
  return text.replace(
    /\/\*[\s\S]*?\*\/|(?<![:"'`\\])\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g,
    (match) => (match.startsWith("/") ? match.replace(/[^\n]/g, "") : '""'),
  );
}

/** `path:line` for each match, for messages that can be clicked. */
export function places({ path, text }: Source, pattern: RegExp): string[] {
  const matches = [
    ...text.matchAll(new RegExp(pattern, pattern.flags.includes("g") ? pattern.flags : `${pattern.flags}g`)),
  ];
  return matches.map(
    ({ index, 0: found }) => `${path}:${text.slice(0, index).split("\n").length} ${found.trim()}`,
  );
}

function walk(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !foreign.has(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return readable(path) ? walk(path) : [];
      return entry.isFile() ? [relative(root, path).split(sep).join("/")] : [];
    })
    .sort();
}

/** A data folder that a person keeps in the clone is no source, and may belong to another user. */
function readable(folder: string): boolean {
  const names = readdirSync(folder);
  return !names.includes("platform.lock") && !names.includes("PG_VERSION");
}
