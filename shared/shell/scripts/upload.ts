/**
 * What the server runs to take a file. Static text; $1 the path, $2 the temporary path beside it, $3 the mode, $4 the number of bytes.
 * Rejected: the sftp subsystem (not every server has it, and it writes in place) and `mktemp` (not everywhere, and a second name to quote).
 */

const rename = `
finish() {
  [ "$(wc -c <"$2")" -eq "$4" ] || { echo "the upload was cut short" >&2; return 1; }
  [ ! -d "$1" ] || { echo "the path is a directory" >&2; return 1; }
  chmod "$3" "$2" && mv -f -- "$2" "$1"
}
`;

/** Takes stdin. With a count it also renames, and leaves nothing behind otherwise; without one the file waits under its temporary name. */
export const receiveFile = `${rename}
umask 077
case $1 in */*) directory=\${1%/*}; [ -d "$directory/" ] || mkdir -p -- "$directory" || exit 1 ;; esac
trap 'rm -f -- "$2"' EXIT
trap 'exit 1' HUP INT TERM
set -C
cat >"$2" || exit 1
if [ -z "$4" ]; then trap - EXIT; exit 0; fi
finish "$1" "$2" "$3" "$4"
`;

export const renameReceived = `${rename}
trap 'rm -f -- "$2"' EXIT
finish "$1" "$2" "$3" "$4"
`;
