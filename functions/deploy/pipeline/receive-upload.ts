/**
 * Brings an uploaded folder to the server: the stored archive goes over SSH into a file of the deployment's directory,
 * whole or not at all, and a unit unpacks it there. A new owner sends it again unless it is there or was unpacked. The
 * archive was written by this product from checked entries; tar still gets every option that takes rights away from it.
 */

import { limits } from "../../../shared/domain/limits.ts";
import { BlobMissing } from "../../../shared/ports/blob-store.ts";
import { DeployFailure } from "../failure.ts";
import { lastLines } from "../store.ts";
import type { Story } from "../story-parts.ts";
import { followToLog } from "./follow-to-log.ts";
import { diskFull } from "./full-disk.ts";
import { turnPhase } from "./phases.ts";

/** `$1` directory of the deployment, `$2` digest. Answers `there` where nothing has to be sent. */
const lookScript = `
if [ -e "$1/fetch.started" ]; then echo there; exit 0; fi
[ -f "$1/upload.tar.gz" ] || exit 0
found=$(sha256sum <"$1/upload.tar.gz")
[ "\${found%% *}" != "$2" ] || echo there
`;

/** `$1` directory of the deployment, `$2` digest. Exit 3: what arrived is not what was sent. */
const unpackScript = `
set -eu
umask 022
directory=$1 digest=$2
export LC_ALL=C
found=$(sha256sum <"$directory/upload.tar.gz")
[ "\${found%% *}" = "$digest" ] || exit 3
rm -rf "$directory/source"
mkdir "$directory/source"
tar -xzf "$directory/upload.tar.gz" -C "$directory/source" --no-same-owner --no-same-permissions --touch
rm -f "$directory/upload.tar.gz"
echo "$digest" >"$directory/commit.next"
mv "$directory/commit.next" "$directory/commit"
`;

export async function receiveUpload(story: Story): Promise<void> {
  const { context, parts, deployment, names, hand } = story;
  const { uploadDigest: digest } = deployment;
  if (digest === null) {
    throw new DeployFailure(
      "no_upload",
      "The project is deployed from uploads, and this deployment has none.",
      "Upload a folder: slipway deploy --upload.",
    );
  }
  const say = `Sending the upload ${digest.slice(0, 12)} to the server`;
  const turn = turnPhase(context.progress, { begun: "fetch", say }, parts.clock.nowMs());
  // Noted before anything is sent: `undo` looks on the server for what was noted.
  if (turn.events.length > 0) await context.append(turn.events, turn.progress);
  const args = [names.directory, digest];
  const looked = await hand.look({ script: lookScript, args, deadlineMs: 60_000 });
  if (looked.stdout.trim() !== "there") await send(story, digest);
  await hand.start({ step: "fetch", script: unpackScript, args, timeoutMs: limits.fetchMs });
  const exit = await followToLog(story, "fetch", "fetch");
  if (exit !== 0) throw explainUnpack(exit, await lastLines(parts.db, context.id, "fetch"));
}

async function send({ parts, names, hand }: Story, digest: string): Promise<void> {
  try {
    await hand.upload({
      path: `${names.directory}/upload.tar.gz`,
      bytes: await parts.uploads.bytes(digest),
      chunks: () => parts.uploads.read(digest),
      mode: 0o600,
      deadlineMs: limits.fetchMs,
    });
  } catch (error) {
    if (!(error instanceof BlobMissing)) throw error;
    throw new DeployFailure("upload_gone", "The upload is not kept any more.", "Upload the folder again.");
  }
}

function explainUnpack(exit: number, tail: readonly string[]): DeployFailure {
  if (/no space left on device/i.test(tail.join("\n"))) {
    return diskFull(tail);
  }
  if (exit === 127) {
    const hint = "Install tar and gzip on the server.";
    return new DeployFailure("server_not_ready", "tar is not installed on the server.", hint, tail);
  }
  const hint = "Deploy again; the last lines of the log say more.";
  return new DeployFailure(
    "upload_not_unpacked",
    "The upload could not be unpacked on the server.",
    hint,
    tail,
  );
}
