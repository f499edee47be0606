/**
 * Runs the command in "$@" for as long as somebody listens: our end of stdin stays open and empty, so its end means that the channel or
 * the connection is gone, and the command with it. Without this a `logs --follow` of a quiet container stays on the server for good:
 * sshd sends a root session no signals, and closing its output only tells a program that writes. The watcher holds neither output, else
 * the channel could not close when the command ends.
 */
export const watched = `
exec 3<&0 </dev/null
( trap '' TERM; exec >/dev/null 2>&1; while read -r _ <&3; do :; done; kill -TERM 0; sleep 2; kill -KILL 0 ) &
watcher=$!
"$@" 3<&- &
wait $!
code=$?
kill -KILL $watcher
exit $code
`;
