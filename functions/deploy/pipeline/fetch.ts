/**
 * Brings the source of one commit to the server: a bare repository a project, which makes the next fetch small, and a
 * plain tree without .git for the builder. A unit of its own, since hosts can be slow. Rejected: `git clone` for each
 * deployment (everything again each time) and `git archive` (`export-ignore` would leave files out of the build).
 */

import type { GitSource } from "../../../shared/domain/project.ts";
import { DeployFailure } from "../failure.ts";

export interface FetchRequest {
  repository: string;
  directory: string;
  url: string;
  /** null: the default branch. */
  branch: string | null;
  /** null: the head of the branch. */
  commitSha: string | null;
}

/**
 * `$1` bare repository, `$2` directory of the deployment, `$3` url, `$4` branch or empty, `$5` commit or empty.
 * Answers in `$2/commit`: the SHA, then the message. Exit 3: the commit is not there.
 */
export const fetchScript = `
set -eu
umask 022
repository=$1 directory=$2 url=$3 branch=$4 commit=$5
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export LC_ALL=C HOME="\${HOME:-/root}" GIT_TERMINAL_PROMPT=0 GIT_ASKPASS= GIT_ALLOW_PROTOCOL=http:https
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
g() {
  git --git-dir="$repository" -c core.hooksPath=/dev/null -c gc.auto=0 -c maintenance.auto=false \\
    -c credential.helper= -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=30 -c advice.detachedHead=false "$@"
}
want() { g fetch --quiet --force --no-tags --no-recurse-submodules --depth="$1" -- "$url" "+$2:refs/slipway/head"; }
has() { g cat-file -e "$commit^{commit}" 2>/dev/null; }
if [ ! -f "$repository/HEAD" ]; then
  mkdir -p "\${repository%/*}"
  git init --quiet --bare --template= "$repository"
fi
# For whoever looks at the source afterwards: the client takes a moment to say its version, and here it costs none.
docker --version >"$directory/engine" 2>/dev/null &
rm -f "$repository"/shallow.lock "$repository"/refs/slipway/head.lock "$repository"/packed-refs.lock
head=HEAD
[ -z "$branch" ] || head="refs/heads/$branch"
if [ -z "$commit" ]; then
  want 1 "$head"
  commit=$(g rev-parse --verify --quiet 'refs/slipway/head^{commit}')
elif ! has; then
  if ! want 1 "$commit" 2>"$directory/refusal"; then
    grep -qi 'unadvertised object\\|not our ref\\|remote ref' "$directory/refusal" || { cat "$directory/refusal"; exit 1; }
    echo "The host does not hand out single commits; looking for it on the branch"
    want 50 "$head"
    has || want 2147483647 "$head"
    has || exit 3
  fi
fi
g update-ref refs/slipway/head "$commit"
rm -rf "$directory/source" "$directory/index" "$directory/refusal"
mkdir "$directory/source"
cd "$directory/source"
export GIT_INDEX_FILE="$directory/index"
g read-tree "$commit"
g --work-tree="$directory/source" checkout-index --all --force --quiet
rm -f "$directory/index"
{ echo "$commit"; g log -1 --no-show-signature --format=%B "$commit" | head -c 4000; } >"$directory/commit.next"
mv "$directory/commit.next" "$directory/commit"
wait
[ ! -f .gitmodules ] || echo "The repository has submodules; they are not fetched"
`;

export function fetchArguments(request: FetchRequest): string[] {
  const { repository, directory, url, branch, commitSha } = request;
  return [repository, directory, url, branch ?? "", commitSha ?? ""];
}

/** Where a project's repository is cloned from, without any credential. */
export function cloneUrlOf(source: GitSource): string {
  return source.cloneUrl ?? `https://github.com/${source.owner}/${source.repo}.git`;
}

interface Reason {
  sign: RegExp;
  code: string;
  message: string;
  hint: string;
}

const reasons: readonly Reason[] = [
  {
    sign: /couldn't find remote ref|could not find remote ref/i,
    code: "git_branch_not_found",
    message: "The branch does not exist at the git host.",
    hint: "Check the branch of the project, or push the branch first.",
  },
  {
    sign: /could not read username|authentication failed|error: 40[13]|invalid username or password/i,
    code: "git_not_allowed",
    message: "The git host asks for a credential for this repository.",
    hint: "Repositories that need a credential are not supported yet; make it readable for the server.",
  },
  {
    sign: /repository '.*' not found|error: 404|does not appear to be a git repository|not valid: is this a git repository/i,
    code: "git_repository_not_found",
    message: "There is no such repository at the git host.",
    hint: "Check owner, repo and cloneUrl of the project's source.",
  },
  {
    sign: /transport '.*' not allowed|unsupported protocol|unable to find remote helper/i,
    code: "git_protocol_refused",
    message: "Only http and https addresses are fetched.",
    hint: "Set cloneUrl to an http or https address.",
  },
  {
    sign: /no space left on device/i,
    code: "disk_full",
    message: "The server's disk is full.",
    hint: "Free space on the server, then deploy again.",
  },
  {
    sign: /could not resolve host|failed to connect|couldn't connect|connection refused|timed out|operation too slow|early eof|hung up|recv failure|error: 5\d\d|ssl|certificate/i,
    code: "git_unreachable",
    message: "The server could not reach the git host.",
    hint: "Check that the server can open the address of the repository, then deploy again.",
  },
];

/** What an unsuccessful fetch means. `tail` are its last lines, already redacted. */
export function explainFetch(exitCode: number, tail: readonly string[]): DeployFailure {
  if (exitCode === 3) {
    const hint =
      "It was removed from the branch, by a force push for example; deploy the head of the branch.";
    return new DeployFailure(
      "git_commit_not_found",
      "The git host does not have this commit any more.",
      hint,
      tail,
    );
  }
  if (exitCode === 127) {
    const hint = "Run the server's bootstrap, which installs git.";
    return new DeployFailure("server_not_ready", "git is not installed on the server.", hint, tail);
  }
  const text = tail.join("\n");
  const reason = reasons.find(({ sign }) => sign.test(text));
  if (reason === undefined) {
    return new DeployFailure(
      "git_failed",
      `git ended with status ${exitCode}.`,
      "The last lines say why.",
      tail,
    );
  }
  return new DeployFailure(reason.code, reason.message, reason.hint, tail);
}
