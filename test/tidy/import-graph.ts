/** Who imports what: static, dynamic and type imports of every source file, resolved to files of the repository. */
import { posix } from "node:path";
import { type Source, sources } from "./sources.ts";

export interface Import {
  from: string;
  /** A path of the repository, `node:…`, or the name of a library. */
  to: string;
  kind: "file" | "node" | "library";
  /** Erased before anything runs. */
  typeOnly: boolean;
  dynamic: boolean;
}

const statement = /^[ \t]*(?:import|export)\s+(type\s)?(?:[^;"'()]*?\sfrom\s+)?"([^"]+)"/gm;
const call = /\bimport\(\s*(?:"([^"]+)"|([^")][^)]*))/g;

export function importsOf({ path, text }: Source): Import[] {
  const code = withoutComments(text);
  const found = [...code.matchAll(statement)].map(([, type, to = ""]) =>
    made(path, to, type !== undefined, false),
  );
  for (const [, to, expression] of code.matchAll(call)) {
    if (to !== undefined) found.push(made(path, to, false, true));
    else if (expression !== undefined) found.push(made(path, `(computed) ${expression.trim()}`, false, true));
  }
  return found;
}

export const allImports: readonly Import[] = sources.flatMap(importsOf);

/** Everything that is loaded when `entry` is, with the chain of files that leads there. */
export function reached(entry: string, imports: readonly Import[]): Map<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>([[entry, [entry]]]);
  const queue = [entry];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const chain = chains.get(next) ?? [];
    for (const { from, to, typeOnly } of imports) {
      if (from !== next || typeOnly || chains.has(to)) continue;
      chains.set(to, [...chain, to]);
      queue.push(to);
    }
  }
  return chains;
}

/** `hono/body-limit` is hono, `@hono/zod-openapi/x` is @hono/zod-openapi. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function made(from: string, specifier: string, typeOnly: boolean, dynamic: boolean): Import {
  if (specifier.startsWith("node:")) return { from, to: specifier, kind: "node", typeOnly, dynamic };
  if (!specifier.startsWith(".")) return { from, to: specifier, kind: "library", typeOnly, dynamic };
  return { from, to: posix.join(posix.dirname(from), specifier), kind: "file", typeOnly, dynamic };
}

function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, "").replace(/^\s*\/\/[^\n]*/gm, "");
}
