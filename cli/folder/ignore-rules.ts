/**
 * Which files of a folder are left out: by `.slipwayignore` first, then `.git` and `node_modules` always, then
 * `.gitignore` as git reads it, those of the folders above up to the top of the checkout included. A deeper file stands
 * before a higher one. Rejected: asking git (not every folder is a checkout, and untracked files belong to an upload).
 */
import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";

/** One ignore file: its rules hold for paths relative to its folder. */
interface Rules {
  folder: string;
  ignore: Ignore;
}

export interface IgnoreRules {
  ofGit: readonly Rules[];
  ofSlipway: readonly Rules[];
}

const always = ignore().add([".git", "node_modules/"]);

/** Rules that hold in the folder that is uploaded. */
export async function rulesAbove(root: string): Promise<IgnoreRules> {
  const folders = await foldersOfCheckout(root);
  const above = await Promise.all(folders.map((folder) => readRules(folder, ".gitignore")));
  return rulesIn(root, { ofGit: above.flat(), ofSlipway: [] });
}

/** The rules with those of this folder added, deepest first. */
export async function rulesIn(folder: string, above: IgnoreRules): Promise<IgnoreRules> {
  return {
    ofGit: [...(await readRules(folder, ".gitignore")), ...above.ofGit],
    ofSlipway: [...(await readRules(folder, ".slipwayignore")), ...above.ofSlipway],
  };
}

/** What `.slipwayignore` takes back from git comes whole: rules of git from above hold no longer inside. */
export function rulesInside(rules: IgnoreRules, folder: string): IgnoreRules {
  const isTakenBack = decide(rules.ofSlipway, folder, true) === false;
  return isTakenBack ? { ...rules, ofGit: [] } : rules;
}

export function isLeftOut(rules: IgnoreRules, path: string, isFolder: boolean): boolean {
  return (
    decide(rules.ofSlipway, path, isFolder) ??
    (always.ignores(asRuled(dirname(path), path, isFolder)) ? true : undefined) ??
    decide(rules.ofGit, path, isFolder) ??
    false
  );
}

function decide(all: readonly Rules[], path: string, isFolder: boolean): boolean | undefined {
  for (const { folder, ignore: rules } of all) {
    const { ignored, unignored } = rules.test(asRuled(folder, path, isFolder));
    if (ignored || unignored) return ignored;
  }
  return undefined;
}

function asRuled(folder: string, path: string, isFolder: boolean): string {
  const inside = relative(folder, path).split(sep).join("/");
  return isFolder ? `${inside}/` : inside;
}

async function readRules(folder: string, name: string): Promise<Rules[]> {
  try {
    const text = await readFile(join(folder, name), "utf8");
    return [{ folder, ignore: ignore().add(text) }];
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "EISDIR"].includes(String(error.code)))
      return [];
    throw error;
  }
}

/** Folders above, from the nearest to the top of the checkout; none outside of one. */
async function foldersOfCheckout(root: string): Promise<string[]> {
  const above: string[] = [];
  for (let folder = resolve(root); ; folder = dirname(folder)) {
    if (folder !== resolve(root)) above.push(folder);
    const there = await stat(join(folder, ".git")).catch(() => null);
    if (there !== null) return above;
    if (dirname(folder) === folder) return [];
  }
}
