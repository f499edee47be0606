/** This machine as the platform needs it: Node, the data folder with its owner, mode and room, the file of the secrets. */
import { access, constants, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Finding, fail, ok, warn } from "../../../shared/contract/finding.ts";

const oldestNode = 24;
const gigabyte = 1_073_741_824;
/** The database stops at a full disk; below the first it is a matter of hours. */
const leastFreeBytes = 0.5 * gigabyte;
const scarceFreeBytes = 3 * gigabyte;

export function checkNode(version: string): Finding {
  if (Number(version.split(".")[0]) >= oldestNode) return ok("node", `Node ${version}.`);
  return fail(
    "node",
    `Node ${version} is too old.`,
    `Run it with Node ${oldestNode}: "npm start" brings it.`,
  );
}

/** `usable`: the rest of the checks makes sense. */
export async function checkDataFolder(
  folder: string,
  uid: number,
): Promise<{ usable: boolean; findings: Finding[] }> {
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory() !== true) {
    const hint = 'The first "npm start" makes it; SLIPWAY_DATA_DIR names another one.';
    return { usable: false, findings: [warn("data_folder", `There is no data folder at ${folder}.`, hint)] };
  }
  const writable = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!writable) {
    const hint = `Run this as the user with uid ${found.uid}, or give the folder to the user of the platform.`;
    const message = `The data folder ${folder} belongs to uid ${found.uid} and cannot be written by uid ${uid}.`;
    return { usable: false, findings: [fail("data_folder", message, hint)] };
  }
  return {
    usable: true,
    findings: [folderFinding(folder, found, uid), await diskFinding(folder), await secretsFinding(folder)],
  };
}

function folderFinding(folder: string, found: { uid: number; mode: number }, uid: number): Finding {
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  if (found.uid !== uid) {
    return warn(
      "data_folder",
      `The data folder ${folder} belongs to uid ${found.uid}, and this is uid ${uid}.`,
      "Always start the platform as the same user.",
    );
  }
  if ((found.mode & 0o066) !== 0) {
    return warn(
      "data_folder",
      `Other users may look into the data folder ${folder} (mode ${mode}).`,
      `Run "chmod go-rw ${folder}".`,
    );
  }
  return ok("data_folder", `${folder}, mode ${mode}.`);
}

async function diskFinding(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const message = `${(freeBytes / gigabyte).toFixed(1)} GB free for the data folder.`;
  if (freeBytes < leastFreeBytes) {
    return fail("disk", message, "Make room now: the database stops when the disk is full.");
  }
  return freeBytes < scarceFreeBytes ? warn("disk", message, "Make room soon.") : ok("disk", message);
}

async function secretsFinding(folder: string): Promise<Finding> {
  const file = join(folder, "secrets.json");
  const found = await stat(file).catch(() => null);
  if (found === null) {
    return warn(
      "secrets",
      `There is no ${file} yet.`,
      'The first "npm start" makes it. Was it lost? Put it back from a backup.',
    );
  }
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  if ((found.mode & 0o077) === 0) return ok("secrets", `${file}, mode ${mode}.`);
  return fail(
    "secrets",
    `Other users may read the secrets of this instance (${file}, mode ${mode}).`,
    `Run "chmod 600 ${file}".`,
  );
}
