/**
 * Exported names that nothing imports. A name that only its own tests use is dead as well: tests go through the public
 * surface. Rejected: a tool of its own, since names and imports are regular enough here to be read by a pattern.
 */
import { describe, expect, it } from "vitest";
import { codeOf, type Source, sources } from "./sources.ts";

/** Exported for something that is no import, each with its reason. */
const allowed: readonly { path: RegExp; names: RegExp; because: string }[] = [
  {
    path: /^shared\/contract\/(?!client|openapi|route|common|all-routes)/,
    names: /./,
    because: "all-routes.ts takes modules whole",
  },
  {
    path: /^shared\/db\/[a-z]+-tables\.ts$/,
    names: /./,
    because: "the migration tool reads every table",
  },
  { path: /\.config\.(ts|mts)$/, names: /^default$/, because: "tools load their configuration" },
  { path: /global-set-up\.ts$/, names: /^(default|setup|teardown)$/, because: "vitest calls it" },
  {
    path: /^(edge\/router\/forward-http|shared\/http\/identity-header|shared\/crypto\/identity-token)\.ts$/,
    names: /^(forwardHttp|verifyIdentityHeader|createIdentity(Signer|Verifier))$/,
    because: "the way between edge and modules in containers of their own; the contract suite runs it",
  },
  {
    path: /^shared\/(shell\/detached|adapters\/instance-secrets)\.ts$/,
    names: /^(listUnits|readInstanceSecrets)$/,
    because: "how a test looks for what was left behind",
  },
  { path: /^edge\/worker\.ts$/, names: /./, because: "the worker's host calls it" },
];

describe("exported names", () => {
  it("are read whatever their form", () => {
    const text =
      "export const a = 1;\nexport async function b() {}\nexport type C = 1;\nexport { d, e as f };\n";
    expect(exportsOf({ path: "x.ts", text })).toEqual(["a", "b", "C", "d", "f"]);
  });

  it("are seen as dead when nothing imports them, or only a test does", () => {
    const code = [
      {
        path: "shared/a.ts",
        text: "export const used = 1;\nexport const dead = 2;\nexport const tested = 3;\n",
      },
      { path: "shared/b.ts", text: 'import { used } from "./a.ts";\nused;\n' },
      { path: "test/shared/a.test.ts", text: 'import { tested } from "../../shared/a.ts";\n' },
    ];
    expect(deadIn(code)).toEqual(["shared/a.ts dead", "shared/a.ts tested (tests only)"]);
  });

  it("are imported somewhere in the product", () => {
    expect(deadIn(sources)).toEqual([]);
  });
});

function deadIn(all: readonly Source[]): string[] {
  const uses = all.map(({ path, text }) => ({ path, names: importedNames(text) }));
  return all.flatMap((source) =>
    exportsOf(source)
      .filter((name) => !allowed.some(({ path, names }) => path.test(source.path) && names.test(name)))
      .flatMap((name) => {
        const users = uses.filter(({ path, names }) => path !== source.path && names.has(name));
        if (users.length === 0) return usedAsType(source, name) ? [] : [`${source.path} ${name}`];
        const inTest = source.path.startsWith("test/");
        const testsOnly = !inTest && users.every(({ path }) => path.startsWith("test/"));
        return testsOnly && !usedInside(source, name) ? [`${source.path} ${name} (tests only)`] : [];
      }),
  );
}

function exportsOf({ text }: Source): string[] {
  const code = codeOf(text);
  const declared = [
    ...code.matchAll(
      /^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:const|let|function\*?|class|type|interface)\s+([\w$]+)/gm,
    ),
  ].map(([whole, name = ""]) => (/^export\s+default/.test(whole) ? "default" : name));
  const listed = [...code.matchAll(/^export\s+(?:type\s+)?\{([^{}]*)\}/gm)].flatMap(([, names = ""]) =>
    names
      .split(",")
      .map(
        (name) =>
          name
            .trim()
            .replace(/^type\s+/, "")
            .split(/\s+as\s+/)
            .at(-1) ?? "",
      )
      .filter((name) => name !== ""),
  );
  const anonymous = /^export\s+default\s+(?!async\b|function\b|class\b)/m.test(code) ? ["default"] : [];
  return [...declared, ...listed, ...anonymous];
}

/** Names in import and re-export lists, members of namespace imports and of dynamic imports. */
function importedNames(text: string): Set<string> {
  const names = new Set<string>();
  for (const [, list = ""] of text.matchAll(
    /(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,\s*)?\{([^{}]*)\}\s*from\s/g,
  )) {
    for (const one of list.split(","))
      names.add(
        one
          .trim()
          .replace(/^type\s+/, "")
          .split(/\s+as\s+/)[0] ?? "",
      );
  }
  if (/import\s+(?:type\s+)?[\w$]+\s*(?:,\s*\{[^}]*\}\s*)?from\s/.test(text)) names.add("default");
  for (const [, space = ""] of text.matchAll(/import\s+(?:type\s+)?\*\s+as\s+([\w$]+)\s+from/g)) {
    for (const [, member = ""] of text.matchAll(new RegExp(`\\b${space}\\.([\\w$]+)`, "g")))
      names.add(member);
  }
  for (const [, member = ""] of text.matchAll(/\(await import\([^)]*\)\)\.([\w$]+)/g)) names.add(member);
  for (const [, list = ""] of text.matchAll(/\{([^{}]*)\}\s*=\s*await import\(/g)) {
    for (const one of list.split(",")) names.add(one.trim().split(/\s*:\s*/)[0] ?? "");
  }
  return names;
}

/** A type that an exported signature names has to be exported for its callers to write it down, also if none does yet. */
function usedAsType({ text }: Source, name: string): boolean {
  const isType = new RegExp(`^export\\s+(?:interface|type|class)\\s+${name}\\b`, "m").test(text);
  return isType && usedInside({ path: "", text }, name);
}

function usedInside({ text }: Source, name: string): boolean {
  return [...codeOf(text).matchAll(new RegExp(`\\b${name.replace("$", "\\$")}\\b`, "g"))].length > 1;
}
