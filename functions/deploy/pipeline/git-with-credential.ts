/**
 * How a script on a server runs git with a project's credential. It comes on standard input: a file that was deleted before
 * the script begins. git reads it back through /proc as long as the script lives, so that there is no file, argument or
 * variable that could be left behind. No redirect is followed with one. Rejected: `http.followRedirects=initial` (it
 * follows the first, to any host).
 */
import { tokenUser } from "../../../shared/domain/git-connection.ts";
import type { GitAccess } from "../git-access.ts";

/**
 * Defines `g`, which calls the script's own `run` with what the credential needs. Expects `$directory` for files, `$kind`
 * and `$only` from `credentialArguments`, and `$pin`: the checked address that git is held to, or empty. Exit 4: this
 * git is too old to be held to one.
 */
export const gitWithCredential = `unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export LC_ALL=C HOME="\${HOME:-/root}" GIT_TERMINAL_PROMPT=0 GIT_ASKPASS= GIT_ALLOW_PROTOCOL=http:https
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
secret=/proc/$$/fd/0
if [ -n "$pin" ] && [ "$kind" != deploy_key ]; then
  git help --config | grep -qx http.curloptResolve || exit 4
  export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=http.curloptResolve GIT_CONFIG_VALUE_0="$pin"
  # Neither a redirect nor a repository's alternates lead to another address.
  export GIT_CONFIG_KEY_1=http.followRedirects GIT_CONFIG_VALUE_1=false
fi
case $kind in
  token)
    # Last of the helpers, and for this origin alone; "store" and "erase" are of no interest.
    give='!f() { [ "$1" != get ] || cat '$secret'; }; f'
    g() { run -c http.followRedirects=false -c "credential.$only.helper=$give" "$@"; } ;;
  deploy_key)
    export GIT_ALLOW_PROTOCOL=ssh GIT_SSH_VARIANT=ssh
    printf 'slipway-git-host %s\\n' "$only" >"$directory/known_hosts"
    GIT_SSH_COMMAND="ssh -F /dev/null -i $secret -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes"
    GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o StrictHostKeyChecking=yes -o HostKeyAlias=slipway-git-host"
    GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o UserKnownHostsFile=$directory/known_hosts -o GlobalKnownHostsFile=/dev/null"
    GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o CheckHostIP=no -o UpdateHostKeys=no -o ConnectTimeout=20"
    GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o ServerAliveInterval=15 -o ServerAliveCountMax=2"
    [ -z "$pin" ] || GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o HostName=$pin"
    export GIT_SSH_COMMAND
    g() { run "$@"; } ;;
  *) g() { run "$@"; } ;;
esac
`;

/** Kind of the credential or empty; for a token the origin that gets it, for a deploy key the host key. */
export function credentialArguments(access: GitAccess | null): [string, string] {
  if (access === null) return ["", ""];
  if (access.kind === "token") return [access.kind, new URL(access.baseUrl).origin];
  return [access.kind, access.hostKey ?? ""];
}

/** The script's standard input: what git's credential protocol answers, or the key; undefined without a credential. */
export function credentialInput(access: GitAccess | null): string | undefined {
  if (access === null) return undefined;
  return access.kind === "token" ? `username=${tokenUser}\npassword=${access.secret}\n` : access.secret;
}
