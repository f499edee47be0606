/**
 * What the server runs to take a file from its input. Static text; $1 the path, $2 the temporary path beside it, $3 the mode, $4 the
 * number of bytes. Whatever ends it before it has them all, nothing stays behind.
 * Rejected: the sftp subsystem (not every server has it, and it writes in place) and `mktemp` (not everywhere, and a second name to quote).
 */
export const receiveFile = `
umask 077
case $1 in */*) directory=\${1%/*}; [ -d "$directory/" ] || mkdir -p -- "$directory" || exit 1 ;; esac
trap 'rm -f -- "$2"' EXIT
# A cut connection takes the place for a last word with it, and a shell that dies of that runs no trap.
trap 'exit 1' HUP INT TERM PIPE
set -C
cat >"$2" || exit 1
[ "$(wc -c <"$2")" -eq "$4" ] || { echo "the upload was cut short" >&2; exit 1; }
[ ! -d "$1" ] || { echo "the path is a directory" >&2; exit 1; }
chmod "$3" "$2" && mv -f -- "$2" "$1"
`;
