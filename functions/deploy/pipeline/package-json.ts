/** The parts of a package.json that detection reads. Whatever else it holds, or gets wrong, is the project's business. */
import { DeployFailure } from "../failure.ts";

export interface PackageJson {
  scripts: ReadonlyMap<string, string>;
  /** Names of dependencies and devDependencies. */
  dependencies: ReadonlySet<string>;
  workspaces: boolean;
  /** Whether a dependency lies in the repository itself (`file:`, `link:`, `workspace:`). */
  localDependencies: boolean;
  main: string | null;
  /** As written: `pnpm@9.1.0+sha512.…`. */
  packageManager: string | null;
}

/** Throws `DeployFailure("invalid_package_json")`. */
export function parsePackageJson(text: string): PackageJson {
  const root = record(parse(text));
  if (root === null) throw invalid();
  const dependencies = { ...record(root["devDependencies"]), ...record(root["dependencies"]) };
  const scripts = Object.entries(record(root["scripts"]) ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "",
  );
  return {
    scripts: new Map(scripts),
    dependencies: new Set(Object.keys(dependencies)),
    workspaces: root["workspaces"] !== undefined,
    localDependencies: Object.values(dependencies).some(
      (version) => typeof version === "string" && /^(file|link|portal|workspace|patch):/.test(version),
    ),
    main: typeof root["main"] === "string" ? root["main"].replace(/^\.\//, "") : null,
    packageManager: typeof root["packageManager"] === "string" ? root["packageManager"] : null,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid();
    throw error;
  }
}

function record(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function invalid(): DeployFailure {
  return new DeployFailure(
    "invalid_package_json",
    "package.json is not valid JSON.",
    "Correct package.json, then push again.",
  );
}
