/**
 * Which package manager a project uses, by its lockfile, and how it is called. A version comes only from the strict
 * form of `packageManager`; corepack is not relied on, since newer Node images do not carry it.
 */
import type { PackageJson } from "./package-json.ts";

export interface PackageManager {
  name: "npm" | "pnpm" | "yarn";
  /** Those that are there, for the install step. */
  lockfiles: readonly string[];
  /** Package to install globally first, or null where the image has it. */
  tool: string | null;
  install: string;
  run(script: string): string;
  /** Whether packages do not lie in node_modules, so that only the manager itself can start things. */
  virtual: boolean;
  /** Where it keeps downloads, below the home of the user who builds. */
  cache: string;
}

export function packageManagerOf(files: readonly string[], manifest: PackageJson): PackageManager {
  const pinned = /^(npm|pnpm|yarn)@(\d+\.\d+\.\d+)(\+|$)/.exec(manifest.packageManager ?? "");
  const version = pinned?.[2] ?? null;
  if (files.includes("pnpm-lock.yaml")) return pnpm(pinned?.[1] === "pnpm" ? version : null);
  if (files.includes("yarn.lock")) return yarn(files, pinned?.[1] === "yarn" ? version : null);
  return npm(["package-lock.json", "npm-shrinkwrap.json"].filter((name) => files.includes(name)));
}

function npm(lockfiles: readonly string[]): PackageManager {
  return {
    name: "npm",
    lockfiles,
    tool: null,
    install: lockfiles.length > 0 ? "npm ci --no-audit --no-fund" : "npm install --no-audit --no-fund",
    run: (script) => `npm run ${script}`,
    virtual: false,
    cache: ".npm",
  };
}

function pnpm(version: string | null): PackageManager {
  return {
    name: "pnpm",
    lockfiles: ["pnpm-lock.yaml"],
    tool: `pnpm@${version ?? "10"}`,
    install: "pnpm install --frozen-lockfile",
    run: (script) => `pnpm run ${script}`,
    virtual: false,
    cache: ".local/share/pnpm/store",
  };
}

function yarn(files: readonly string[], version: string | null): PackageManager {
  const modern = version === null ? files.includes(".yarnrc.yml") : !version.startsWith("1.");
  return {
    name: "yarn",
    lockfiles: ["yarn.lock"],
    tool: modern ? `@yarnpkg/cli-dist@${version ?? "4"}` : `yarn@${version ?? "1"}`,
    install: modern ? "yarn install --immutable" : "yarn install --frozen-lockfile --non-interactive",
    run: (script) => `yarn run ${script}`,
    virtual: modern,
    cache: modern ? ".yarn/berry/cache" : ".cache/yarn",
  };
}
