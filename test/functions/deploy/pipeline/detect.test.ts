import { describe, expect, it } from "vitest";
import { DeployFailure } from "../../../../functions/deploy/failure.ts";
import { type Detected, detect, type Inspection } from "../../../../functions/deploy/pipeline/detect.ts";
import { createFrameworkCatalogue } from "../../../../shared/adapters/vercel-frameworks.ts";
import type { BuildStrategy } from "../../../../shared/domain/deployment.ts";
import type { BuildSettings } from "../../../../shared/domain/project.ts";

const frameworks = await createFrameworkCatalogue().all();

function look(
  manifest: Record<string, unknown> | null,
  files: string[] = [],
  options: { build?: BuildSettings; strategy?: BuildStrategy; directories?: string[] } = {},
): Detected {
  const seen: Inspection = {
    files: manifest === null ? files : ["package.json", ...files],
    directories: options.directories ?? [],
    packageJson: manifest === null ? null : JSON.stringify(manifest),
    outputExists: options.directories?.includes(options.build?.outputDirectory ?? "") ?? false,
  };
  return detect(seen, { strategy: options.strategy ?? "auto", build: options.build ?? {}, frameworks });
}

const code = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    if (error instanceof DeployFailure) return { code: error.code, hint: error.hint };
    throw error;
  }
  return null;
};

describe("what a repository is", () => {
  it("is its Dockerfile, whatever else it holds", () => {
    expect(look({ scripts: { start: "node x" } }, ["Dockerfile", "index.html"])).toEqual({
      kind: "dockerfile",
      dockerfile: "Dockerfile",
    });
    expect(look({ scripts: { start: "node x.js" } }, ["Dockerfile"], { strategy: "framework" }).kind).toBe(
      "node",
    );
  });

  it.each([
    ["package-lock.json", "npm", "npm ci --no-audit --no-fund"],
    ["pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"],
    ["yarn.lock", "yarn", "yarn install --frozen-lockfile --non-interactive"],
    ["README.md", "npm", "npm install --no-audit --no-fund"],
  ])("installs by its lockfile: %s", (lockfile, name, installCommand) => {
    const found = look({ scripts: { start: "node app.js" } }, [lockfile]);
    expect(found).toMatchObject({ kind: "node", installCommand, packageManager: { name } });
  });

  it("takes the version of the package manager only from its strict form", () => {
    const tool = (packageManager: string) => {
      const found = look({ packageManager, scripts: { start: "x" } }, ["pnpm-lock.yaml"]);
      return found.kind === "node" ? found.packageManager.tool : undefined;
    };
    expect(tool("pnpm@9.1.0+sha512.abc")).toBe("pnpm@9.1.0");
    for (const hostile of ["pnpm@9.1.0;touch x", "pnpm@latest && x", "pnpm@../../evil", "yarn@1.22.0"]) {
      expect(tool(hostile)).toBe("pnpm@10");
    }
  });

  it("starts a server by its start script, without the package manager in between unless it has hooks", () => {
    expect(look({ scripts: { start: "node dist/main.js" } })).toMatchObject({
      startCommand: "node dist/main.js",
    });
    const hooks = { scripts: { start: "node a.js", prestart: "node b.js" } };
    expect(look(hooks)).toMatchObject({ startCommand: "npm run start" });
    expect(look({ main: "./lib/x.js" }, ["lib/x.js"])).toMatchObject({ startCommand: "node lib/x.js" });
    expect(look({}, ["server.js"])).toMatchObject({ startCommand: "node server.js" });
  });

  it.each([
    ["next", "nextjs", "next start"],
    ["nuxt", "nuxtjs", "node .output/server/index.mjs"],
  ])("knows the server of %s", (dependency, framework, startCommand) => {
    expect(look({ dependencies: { [dependency]: "1" } })).toMatchObject({
      kind: "node",
      framework,
      startCommand,
    });
  });

  it.each([
    ["vite", "vite", "dist", true],
    ["astro", "astro", "dist", false],
    ["gatsby", "gatsby", "public", false],
    ["@docusaurus/core", "docusaurus-2", "build", false],
    ["react-scripts", "create-react-app", "build", true],
  ])("serves what %s builds as a site", (dependency, framework, outputDirectory, singlePage) => {
    const manifest = { devDependencies: { [dependency]: "1" }, scripts: { build: "x", start: "dev" } };
    expect(look(manifest)).toMatchObject({ kind: "site", framework, outputDirectory, singlePage });
  });

  it("takes a bundler beside a server of one's own for a server", () => {
    const manifest = {
      devDependencies: { vite: "1" },
      scripts: { build: "vite build", start: "node server.js" },
    };
    expect(look(manifest)).toMatchObject({ kind: "node", startCommand: "node server.js" });
    expect(look({ dependencies: { astro: "1", "@astrojs/node": "1" } })).toMatchObject({
      kind: "node",
      startCommand: "node ./dist/server/entry.mjs",
    });
  });

  it("prefers every setting of the project", () => {
    const build = { installCommand: "i", buildCommand: "b", startCommand: "s", outputDirectory: "o" };
    expect(look({ dependencies: { vite: "1" } }, [], { build })).toMatchObject({
      kind: "node",
      installCommand: "i",
      buildCommand: "b",
      startCommand: "s",
      manifests: null,
    });
  });

  it("copies the manifests alone where nothing else can matter to the install step", () => {
    const files = ["package-lock.json", ".npmrc", "a.js"];
    expect(look({ scripts: { start: "x" } }, files)).toMatchObject({
      manifests: ["package.json", "package-lock.json", ".npmrc"],
    });
    for (const manifest of [
      { scripts: { start: "x", postinstall: "y" } },
      { scripts: { start: "x" }, workspaces: ["a"] },
      { scripts: { start: "x" }, dependencies: { a: "file:./a" } },
    ]) {
      expect(look(manifest, files)).toMatchObject({ manifests: null });
    }
  });

  it("is plain files with an index.html, or in the output directory", () => {
    expect(look(null, ["index.html"])).toEqual({ kind: "static", directory: "." });
    const build = { outputDirectory: "public" };
    expect(look(null, [], { build, directories: ["public"] })).toEqual({
      kind: "static",
      directory: "public",
    });
  });

  it("is nothing that can be built, and says what to do", () => {
    for (const strategy of ["auto", "dockerfile", "framework", "static"] as const) {
      const failure = code(() => look(null, ["README.md"], { strategy }));
      expect(failure?.code).toBe("nothing_to_build");
      expect(failure?.hint).toBeTruthy();
    }
    expect(code(() => look(null, [], { build: { outputDirectory: "gone" } }))?.code).toBe("nothing_to_build");
  });

  it("says that package.json is broken, whatever it holds", () => {
    const seen = { files: ["package.json"], directories: [], outputExists: false };
    for (const packageJson of ["{", "[]", "null", '"x"']) {
      const work = () => detect({ ...seen, packageJson }, { strategy: "auto", build: {}, frameworks });
      expect(code(work)?.code).toBe("invalid_package_json");
    }
    const odd = { scripts: { start: 5, build: null }, dependencies: ["x"], main: {}, workspaces: null };
    expect(look(odd, ["index.js"])).toMatchObject({ kind: "node", startCommand: "node index.js" });
  });
});
