/**
 * The catalogue of frameworks from `@vercel/frameworks`, used as data only. Loaded when first asked for: it costs
 * 13 MB that an idle platform should not pay. Entries for which a repository shows no package are left out; they
 * describe other languages or Vercel's own runtimes.
 */
import type { Framework, Setting } from "@vercel/frameworks";
import type { FrameworkCatalogue, FrameworkSign, KnownFramework } from "../ports/framework-catalogue.ts";

type Entry = Framework;

export function createFrameworkCatalogue(): FrameworkCatalogue {
  let loaded: Promise<readonly KnownFramework[]> | undefined;
  return {
    all: () => {
      loaded ??= load();
      return loaded;
    },
  };
}

async function load(): Promise<readonly KnownFramework[]> {
  const { frameworkList } = await import("@vercel/frameworks");
  return frameworkList.flatMap((entry) => {
    const known = shape(entry);
    return known === null ? [] : [known];
  });
}

function shape(entry: Entry): KnownFramework | null {
  const every = [...(entry.detectors?.every ?? [])];
  const some = [...(entry.detectors?.some ?? [])];
  if (entry.slug === null || ![...every, ...some].some(namesPackage)) return null;
  return {
    slug: entry.slug,
    name: entry.name,
    every,
    some,
    supersedes: entry.supersedes ?? [],
    buildCommand: settingValue(entry.settings.buildCommand),
    outputDirectory: settingValue(entry.settings.outputDirectory),
  };
}

function namesPackage(sign: FrameworkSign): boolean {
  return sign.matchPackage !== undefined || sign.path === "package.json";
}

function settingValue(setting: Setting | undefined): string | null {
  const value = setting !== undefined && "value" in setting ? setting.value : null;
  return value === "N/A" ? null : value;
}
