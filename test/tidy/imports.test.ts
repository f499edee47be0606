/** The import rules: a rule that is only remembered is a rule that is broken by the third week. */
import { describe, expect, it } from "vitest";
import { allImports, type Import, importsOf, packageOf, reached } from "./import-graph.ts";
import { exceptions, layerOf, layers, moduleOf } from "./layers.ts";
import { sources } from "./sources.ts";

describe("imports", () => {
  it("are read whatever their form", () => {
    const text = [
      'import type { A } from "./a.ts";',
      'import {\n  b,\n  type C,\n} from "../b.ts";',
      'import "node:fs";',
      'export { d } from "hono/body-limit";',
      // In two pieces, so that this file does not seem to import them itself.
      ["const e = await im", 'port("./e.ts");'].join(""),
      ["const f = await im", "port(name);"].join(""),
      '// import "./comment.ts";',
    ].join("\n");
    const found = importsOf({ path: "edge/x/y.ts", text });
    expect(found.map(({ to, kind, typeOnly }) => [to, kind, typeOnly])).toEqual([
      ["edge/x/a.ts", "file", true],
      ["edge/b.ts", "file", false],
      ["node:fs", "node", false],
      ["hono/body-limit", "library", false],
      ["edge/x/e.ts", "file", false],
      ["(computed) name", "library", false],
    ]);
  });

  it("that break a rule are seen", () => {
    const broken: [string, string, Import["kind"]][] = [
      ["shared/domain/a.ts", "shared/db/project-tables.ts", "file"],
      ["shared/contract/a.ts", "hono", "library"],
      ["edge/router/a.ts", "node:fs", "node"],
      ["edge/router/a.ts", "functions/deploy/routes.ts", "file"],
      ["functions/deploy/a.ts", "functions/platform/b.ts", "file"],
      ["functions/deploy/a.ts", "ssh2", "library"],
      ["cli/deploy.ts", "shared/domain/refusal.ts", "file"],
      ["cli/deploy.ts", "functions/offline.ts", "file"],
    ];
    for (const [from, to, kind] of broken) {
      expect(complaint({ from, to, kind, typeOnly: false, dynamic: false }), `${from} → ${to}`).toBeDefined();
    }
  });

  it("name a layer for every source file", () => {
    expect(sources.filter(({ path }) => layerOf(path) === undefined).map(({ path }) => path)).toEqual([]);
  });

  it("resolve to a source file", () => {
    const known = new Set(sources.map(({ path }) => path));
    const lost = allImports.filter(({ to, kind }) => kind === "file" && to.endsWith(".ts") && !known.has(to));
    expect(lost.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it.each(layers.map(({ name }) => name))("of layer %s stay inside its rules", (name) => {
    const own = allImports.filter(({ from }) => layerOf(from)?.name === name);
    expect(own.flatMap((one) => complaint(one) ?? [])).toEqual([]);
  });

  it("of an adapter name one library a file", () => {
    const many = layers
      .filter(({ libraries }) => libraries === "one a file")
      .flatMap(({ files }) => sources.filter(({ path }) => files.test(path)))
      .map(({ path }) => [path, librariesOf(path)] as const)
      .filter(([, libraries]) => libraries.length > 1);
    expect(many).toEqual([]);
  });

  it("of the edge never lead to a module of Node, however long the chain", () => {
    const entries = sources.filter(({ path }) => path.startsWith("edge/") && path !== "edge/node.ts");
    const chains = entries.flatMap(({ path }) =>
      [...reached(path, allImports)]
        .filter(([to]) => to.startsWith("node:"))
        .map(([, chain]) => chain.join(" → ")),
    );
    expect(chains).toEqual([]);
  });
});

/** The sentence for an import that breaks a rule. */
function complaint(one: Import): string | undefined {
  const { from, to, kind } = one;
  const layer = layerOf(from);
  // SST's sources lie where its own tool has put them, and only then.
  if (to.startsWith("(computed)") && from.startsWith("test/infra/")) return undefined;
  if (layer === undefined || to.startsWith("(computed)")) return `${from} → ${to}`;
  if (exceptions.some((exception) => exception.from.test(from) && exception.to.test(to))) return undefined;
  const allowed = kind === "file" ? mayReach(from, to) : kind === "node" ? layer.node : mayUse(from, to);
  return allowed ? undefined : `${from} → ${to}`;
}

function mayReach(from: string, to: string): boolean {
  const [layer, target] = [layerOf(from), layerOf(to)];
  if (layer === undefined) return false;
  if (layer.layers === "any") return true;
  if (target === undefined) return false;
  if (target.name === "root" || target.name === "tests") return false;
  const otherModule = moduleOf(to) !== undefined && moduleOf(to) !== moduleOf(from);
  if (otherModule) return false;
  return target.name === layer.name || layer.layers.includes(target.name) || moduleOf(to) !== undefined;
}

function mayUse(from: string, specifier: string): boolean {
  const libraries = layerOf(from)?.libraries ?? [];
  return libraries === "any" || libraries === "one a file" || libraries.includes(packageOf(specifier));
}

/** Drizzle's driver for pg, or for Neon, is the bridge between the two: together they count as one. */
function librariesOf(path: string): string[] {
  const names = allImports
    .filter(({ from, kind }) => from === path && kind === "library")
    .map(({ to }) => packageOf(to));
  const unique = new Set(names);
  if (unique.has("pg") || unique.has("@neondatabase/serverless")) unique.delete("drizzle-orm");
  return [...unique].sort();
}
