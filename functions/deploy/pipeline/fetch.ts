/**
 * Brings the source of one commit to the server: a bare repository a project, which makes the next fetch small, and a
 * plain tree without .git for the builder. A unit of its own, since hosts can be slow. Rejected: `git clone` for each
 * deployment (everything again each time) and `git archive` (`export-ignore` would leave files out of the build).
 */
import type { GitAccess } from "../git-access.ts";
import { credentialArguments, gitWithCredential } from "./git-with-credential.ts";

export interface FetchRequest {
  repository: string;
  directory: string;
  url: string;
  /** null: the default branch. */
  branch: string | null;
  /** null: the head of the branch. */
  commitSha: string | null;
  access: GitAccess | null;
  /** See `pinned`. */
  pin: string;
}

/**
 * `$1` bare repository, `$2` directory of the deployment, `$3` url, `$4` branch or empty, `$5` commit or empty,
 * `$6` kind of the credential or empty, `$7` for a token the origin that gets it, for a deploy key the host key,
 * `$8` the address that git is held to or empty. Answers in `$2/commit`: the SHA, then the message. Exit 3: the commit is not there.
 */
export const fetchScript = `
set -eu
umask 022
repository=$1 directory=$2 url=$3 branch=$4 commit=$5 kind=$6 only=$7 pin=$8
${gitWithCredential}run() {
  git --git-dir="$repository" -c core.hooksPath=/dev/null -c gc.auto=0 -c maintenance.auto=false \\
    -c credential.helper= -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=30 -c advice.detachedHead=false "$@"
}
want() { g fetch --quiet --force --no-tags --no-recurse-submodules --depth="$1" -- "$url" "+$2:refs/slipway/head"; }
has() { g cat-file -e "$commit^{commit}" 2>/dev/null; }
if [ ! -f "$repository/HEAD" ]; then
  mkdir -p "\${repository%/*}"
  git init --quiet --bare --template= "$repository"
fi
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
rm -f "$directory/index" "$directory/known_hosts"
{ echo "$commit"; g log -1 --no-show-signature --format=%B "$commit" | head -c 4000; } >"$directory/commit.next"
mv "$directory/commit.next" "$directory/commit"
[ ! -f .gitmodules ] || echo "The repository has submodules; they are not fetched"
`;

export function fetchArguments(request: FetchRequest): string[] {
  const { repository, directory, url, branch, commitSha, access, pin } = request;
  return [repository, directory, url, branch ?? "", commitSha ?? "", ...credentialArguments(access), pin];
}
