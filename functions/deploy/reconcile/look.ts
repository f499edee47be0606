/** Where a branch is at the git host, as its project's server sees it: the same access and the same rules as the fetch. */

import { branch as branchName } from "../../../shared/contract/common.ts";
import { limits } from "../../../shared/domain/limits.ts";
import type { Shell, ShellTarget } from "../../../shared/ports/shell.ts";
import type { GitAccess } from "../git-access.ts";
import { explainFetch } from "../pipeline/explain-fetch.ts";
import { credentialArguments, credentialInput, gitWithCredential } from "../pipeline/git-with-credential.ts";

interface LookRequest {
  url: string;
  /** null: the default branch. */
  branch: string | null;
  access: GitAccess | null;
  /** The address that git is held to, or empty; see `pinned`. */
  pin: string;
}

export interface SeenHead {
  /** null where the host does not say which branch is the default one. */
  branch: string | null;
  commitSha: string;
}

/**
 * `$1` url, `$2` ref, `$3` kind of the credential or empty, `$4` see `credentialArguments`, `$5` seconds, `$6` the address that git is held to or empty. git ends by itself
 * before the caller stops waiting: nothing is left behind on the server.
 */
const lookScript = `
set -eu
umask 077
url=$1 ref=$2 kind=$3 only=$4 seconds=$5 pin=$6
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cat >"$directory/input"
exec <"$directory/input"
rm -f "$directory/input"
cd "$directory"
${gitWithCredential}run() {
  GIT_CEILING_DIRECTORIES="$directory" timeout -k 5 "$seconds" git -c credential.helper= \\
    -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=20 "$@"
}
g ls-remote --quiet --symref -- "$url" "$ref"
`;

/** null: the host has no such branch. Throws what a fetch would throw. */
export async function lookAtHead(
  shell: Shell,
  target: ShellTarget,
  { url, branch, access, pin }: LookRequest,
  signal: AbortSignal,
): Promise<SeenHead | null> {
  const ref = branch === null ? "HEAD" : `refs/heads/${branch}`;
  const args = [url, ref, ...credentialArguments(access), String(limits.reconcileLookMs / 1000), pin];
  const { code, stdout, stderr } = await shell.run(target, {
    argv: ["sh", "-c", lookScript, "slipway-look", ...args],
    stdin: credentialInput(access) ?? "",
    asRoot: true,
    deadlineMs: limits.reconcileLookMs + 10_000,
    signal,
  });
  if (code !== 0) throw explainFetch(code, stderr.split("\n").slice(-5));
  return readHead(stdout, ref, branch);
}

/** Lines are `<sha>\t<name>`, or `ref: <name>\tHEAD`. A pattern matches more names than the one that was asked for. */
export function readHead(stdout: string, ref: string, branch: string | null): SeenHead | null {
  const lines = stdout.split("\n").map((line) => line.split("\t"));
  const commitSha = lines.find(([value, name]) => name === ref && !value?.startsWith("ref: "))?.[0];
  if (commitSha === undefined || !/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commitSha)) return null;
  const pointer = lines.find(
    ([value, name]) => name === "HEAD" && value?.startsWith("ref: refs/heads/"),
  )?.[0];
  return { branch: branch ?? nameOf(pointer?.slice("ref: refs/heads/".length)), commitSha };
}

/** A name that a project could have been given, or none: git takes whatever the host calls its default branch. */
function nameOf(pointed: string | undefined): string | null {
  return branchName.safeParse(pointed).data ?? null;
}
