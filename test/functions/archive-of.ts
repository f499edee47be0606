/** A folder as `slipway deploy --upload` sends it, packed by the machine's own tar. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "slipway-lab-upload-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return execFileSync("tar", ["-czf", "-", "-C", folder, "."]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
