/** The files and links of a folder that go along, in one order whatever the file system says. */
import { lstat, readdir, readlink } from "node:fs/promises";
import { dirname, join, normalize, relative, sep } from "node:path";
import { Failure } from "../frame/failure.ts";
import { type IgnoreRules, isLeftOut, rulesAbove, rulesIn, rulesInside } from "./ignore-rules.ts";

export interface FolderFile {
  /** Relative to the folder, with `/`. */
  path: string;
  bytes: number;
}

export async function listFiles(root: string): Promise<FolderFile[]> {
  const found: FolderFile[] = [];
  await walk(root, root, await rulesAbove(root), found);
  return found;
}

async function walk(root: string, folder: string, rules: IgnoreRules, found: FolderFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const full = join(folder, entry.name);
    if (isLeftOut(rules, full, entry.isDirectory())) continue;
    const path = relative(root, full).split(sep).join("/");
    if (entry.isDirectory()) await walk(root, full, await rulesIn(full, rulesInside(rules, full)), found);
    else if (entry.isFile()) found.push({ path, bytes: (await lstat(full)).size });
    else if (entry.isSymbolicLink()) {
      refuseWayOut(path, await readlink(full));
      found.push({ path, bytes: 0 });
    } else throw unfit(path, "is neither a file nor a folder");
  }
}

/** The instance refuses it as well; here it is said before anything is sent. */
function refuseWayOut(path: string, target: string): void {
  const inside = normalize(join(dirname(path), target));
  if (target.startsWith("/")) throw unfit(path, "is a link to an absolute path");
  if (inside === ".." || inside.startsWith(`..${sep}`))
    throw unfit(path, "is a link that leads out of the folder");
}

function unfit(path: string, what: string): Failure {
  return new Failure("failed", "file_unfit", `${path} ${what}.`, {
    hint: "Leave it out with a line in .slipwayignore.",
  });
}
