/**
 * The server's half of fencing: a file with the highest token that ever acted on a resource, and a lock that is held while a step acts.
 * Token and lock are two files, since the token is replaced by a rename and a lock lives on its inode. Static text.
 */

/** Exit status with which a script refuses; its reason is the last line on stderr, behind this mark. */
export const fenceExit = 75;
export const fenceMark = "slipway-fence:";

/**
 * $1 the token's file, $2 our token, $3 seconds to wait for the lock. The lock is file descriptor 9 and is inherited, so that it holds
 * until all processes of a step are over; a step that leaves something running starts it with \`9>&-\`.
 */
export const fenceFunctions = `
fence_refuse() { echo "${fenceMark} $1" >&2; exit ${fenceExit}; }
fence_lock() {
  exec 9>>"$1.lock" || exit 1
  flock -w "$3" 9 || fence_refuse busy
  held=
  [ ! -f "$1" ] || read -r held <"$1"
  case $held in *[!0-9]*) held= ;; esac
  [ -z "$held" ] || [ "$held" -le "$2" ] || fence_refuse "lower $held"
}
fence_write() {
  [ "$held" = "$2" ] || { echo "$2" >"$1.new" && mv -f -- "$1.new" "$1"; } || exit 1
}
fence_enter() {
  [ -f "$1" ] || fence_refuse missing
  fence_lock "$1" "$2" "$3"
  [ -n "$held" ] || fence_refuse missing
  fence_write "$1" "$2"
}
`;

export const claimFenceScript = `${fenceFunctions}
umask 066
mkdir -p -- "\${1%/*}" || exit 1
umask 077
fence_lock "$1" "$2" "$3"
fence_write "$1" "$2"
`;

/** In front of a step's own text, which finds its own arguments from $1 on. */
export const fencePrelude = `${fenceFunctions}
fence_enter "$1" "$2" "$3"
shift 3
`;
