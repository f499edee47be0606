/**
 * Decides what a repository is, from a listing and its package.json: a Dockerfile of its own, a Node application, a
 * site that Node builds, or plain files. Pure: looking at the server is inspect.ts's work. Rejected: buildpacks and
 * nixpacks (hundreds of megabytes of builder images for what three short Dockerfiles do).
 */
import type { BuildStrategy } from "../../../shared/domain/deployment.ts";
import type { BuildSettings } from "../../../shared/domain/project.ts";
import type { FrameworkSign, KnownFramework } from "../../../shared/ports/framework-catalogue.ts";
import { DeployFailure } from "../failure.ts";
import { type PackageJson, parsePackageJson } from "./package-json.ts";
import { type PackageManager, packageManagerOf } from "./package-manager.ts";

/** What inspect.ts saw in the root directory of the project. */
export interface Inspection {
  /** Names of regular files, links left out. */
  files: readonly string[];
  directories: readonly string[];
  /** Text of package.json, or null. */
  packageJson: string | null;
  /** Whether `build.outputDirectory` is a directory inside the source. */
  outputExists: boolean;
}

export type Detected =
  | { kind: "dockerfile"; dockerfile: string }
  | ({ kind: "node"; startCommand: string } & NodeBuild)
  | ({ kind: "site"; outputDirectory: string; singlePage: boolean } & NodeBuild)
  | { kind: "static"; directory: string };

export interface NodeBuild {
  /** Slug of the framework, or null. */
  framework: string | null;
  packageManager: PackageManager;
  installCommand: string | null;
  /** Whether the install step needs nothing but the manifests. */
  manifests: readonly string[] | null;
  buildCommand: string | null;
}

export interface DetectOptions {
  strategy: BuildStrategy;
  build: BuildSettings;
  frameworks: readonly KnownFramework[];
}

/** Throws `DeployFailure("nothing_to_build")` where nothing fits. */
export function detect(seen: Inspection, options: DetectOptions): Detected {
  const { strategy } = options;
  const found =
    (strategy === "auto" || strategy === "dockerfile" ? dockerfileOf(seen) : null) ??
    (strategy === "auto" || strategy === "framework" ? nodeProject(seen, options) : null) ??
    (strategy === "auto" || strategy === "static" ? plainFiles(seen, options.build) : null);
  if (found === null) throw nothingToBuild(strategy);
  return found;
}

function dockerfileOf(seen: Inspection): Detected | null {
  const dockerfile = ["Dockerfile", "Containerfile"].find((name) => seen.files.includes(name));
  return dockerfile === undefined ? null : { kind: "dockerfile", dockerfile };
}

function nodeProject(seen: Inspection, options: DetectOptions): Detected | null {
  if (seen.packageJson === null) return null;
  const manifest = parsePackageJson(seen.packageJson);
  const framework = recognise(seen, manifest, options.frameworks);
  const node = nodeBuild(seen, manifest, framework, options.build);
  const site = siteOutput(manifest, framework, options.build);
  if (site !== null) return { kind: "site", ...node, ...site };
  const startCommand = startOf(seen, manifest, framework, options.build, node.packageManager);
  return startCommand === null ? null : { kind: "node", ...node, startCommand };
}

function nodeBuild(
  seen: Inspection,
  manifest: PackageJson,
  framework: KnownFramework | null,
  build: BuildSettings,
): NodeBuild {
  const packageManager = packageManagerOf(seen.files, manifest);
  const ownBuild = manifest.scripts.has("build") ? packageManager.run("build") : null;
  return {
    framework: framework?.slug ?? null,
    packageManager,
    installCommand: build.installCommand ?? packageManager.install,
    manifests: build.installCommand === undefined ? manifestsFor(seen, manifest, packageManager) : null,
    buildCommand: build.buildCommand ?? ownBuild ?? framework?.buildCommand ?? null,
  };
}

/** Files that the install step needs, or null where scripts or workspaces may need the whole source. */
function manifestsFor(
  seen: Inspection,
  manifest: PackageJson,
  packageManager: PackageManager,
): readonly string[] | null {
  const scripts = ["preinstall", "install", "postinstall", "prepare", "prepublish", "preprepare"];
  if (manifest.workspaces || manifest.localDependencies) return null;
  if (scripts.some((name) => manifest.scripts.has(name))) return null;
  if (seen.directories.some((name) => name === ".yarn" || name === "patches")) return null;
  if (seen.files.includes("pnpm-workspace.yaml")) return null;
  const names = ["package.json", ...packageManager.lockfiles, ".npmrc", ".yarnrc", ".yarnrc.yml"];
  return names.filter((name) => seen.files.includes(name));
}

function recognise(
  seen: Inspection,
  manifest: PackageJson,
  frameworks: readonly KnownFramework[],
): KnownFramework | null {
  const holds = (sign: FrameworkSign): boolean => {
    if (sign.matchPackage !== undefined) return manifest.dependencies.has(sign.matchPackage);
    if (sign.path === undefined || !seen.files.includes(sign.path)) return false;
    if (sign.matchContent === undefined) return true;
    return sign.path === "package.json" && new RegExp(sign.matchContent).test(seen.packageJson ?? "");
  };
  const matching = frameworks.filter(
    (each) => each.every.every(holds) && (each.some.length === 0 || each.some.some(holds)),
  );
  const superseded = new Set(matching.flatMap((each) => each.supersedes));
  return matching.find((each) => !superseded.has(each.slug)) ?? null;
}

/** How frameworks with a server of their own are started where package.json does not say it. */
const servers: Readonly<Record<string, string>> = {
  nextjs: "next start",
  blitzjs: "blitz start",
  nuxtjs: "node .output/server/index.mjs",
  nitro: "node .output/server/index.mjs",
  "solidstart-1": "node .output/server/index.mjs",
  "tanstack-start": "node .output/server/index.mjs",
  remix: "remix-serve ./build/server/index.js",
  "react-router": "react-router-serve ./build/server/index.js",
  "sveltekit-1": "node build",
  mastra: "node .mastra/output/index.mjs",
};

/** Their output is one page that routes in the browser: unknown paths get index.html. */
const singlePages: ReadonlySet<string> = new Set([
  ...["vite", "create-react-app", "vue", "angular", "ionic-angular", "ionic-react", "preact", "svelte"],
  ...["parcel", "ember", "umijs", "polymer", "stencil", "dojo"],
]);

function siteOutput(
  manifest: PackageJson,
  framework: KnownFramework | null,
  build: BuildSettings,
): { outputDirectory: string; singlePage: boolean } | null {
  if (build.startCommand !== undefined) return null;
  if (framework === null) {
    const { outputDirectory } = build;
    if (outputDirectory === undefined || manifest.scripts.has("start")) return null;
    return { outputDirectory, singlePage: false };
  }
  if (Object.hasOwn(servers, framework.slug)) return null;
  if (framework.slug === "astro" && manifest.dependencies.has("@astrojs/node")) return null;
  // A bundler beside a server of one's own: `start` that runs node is that server, not the bundler's preview.
  if (/^(node|tsx|ts-node)\s/.test(manifest.scripts.get("start") ?? "")) return null;
  const outputDirectory = build.outputDirectory ?? framework.outputDirectory;
  return outputDirectory === null ? null : { outputDirectory, singlePage: singlePages.has(framework.slug) };
}

function startOf(
  seen: Inspection,
  manifest: PackageJson,
  framework: KnownFramework | null,
  build: BuildSettings,
  packageManager: PackageManager,
): string | null {
  if (build.startCommand !== undefined) return build.startCommand;
  const start = manifest.scripts.get("start");
  if (start !== undefined) {
    // The package manager in between costs 0.3 s at every start and swallows signals; it is needed for hooks only.
    const hooks = manifest.scripts.has("prestart") || manifest.scripts.has("poststart");
    return hooks || packageManager.virtual ? packageManager.run("start") : start;
  }
  if (framework?.slug === "astro") return "node ./dist/server/entry.mjs";
  const known = framework === null ? undefined : servers[framework.slug];
  if (known !== undefined) return known;
  const candidates = [manifest.main, "server.js", "server.mjs", "index.js", "index.mjs", "app.js"];
  const file = candidates.find((name) => name !== null && seen.files.includes(name));
  return file === undefined || file === null ? null : `node ${file}`;
}

function plainFiles(seen: Inspection, build: BuildSettings): Detected | null {
  if (build.outputDirectory !== undefined) {
    return seen.outputExists ? { kind: "static", directory: build.outputDirectory } : null;
  }
  return seen.files.includes("index.html") ? { kind: "static", directory: "." } : null;
}

const missing: Record<BuildStrategy, { message: string; hint: string }> = {
  auto: {
    message: "There is no Dockerfile, no package.json that can be started and no index.html.",
    hint: "Add a Dockerfile, or set build.startCommand or build.outputDirectory; rootDirectory may point to the wrong folder.",
  },
  dockerfile: {
    message: "There is no Dockerfile.",
    hint: "Add a Dockerfile to the root directory of the project, or choose another buildStrategy.",
  },
  framework: {
    message: "There is no package.json that can be built and started.",
    hint: "Add a start script to package.json, or set build.startCommand or build.outputDirectory.",
  },
  static: {
    message: "There is no index.html and no output directory.",
    hint: "Set build.outputDirectory to the folder with the files to serve.",
  },
};

function nothingToBuild(strategy: BuildStrategy): DeployFailure {
  const { message, hint } = missing[strategy];
  return new DeployFailure("nothing_to_build", message, hint);
}
