"""Remote launches with a program that forwards neither output nor input: both go through files."""

from __future__ import annotations

# Runs on the other host: "$1" is the folder, "$2" is not empty if the input is open, "$3" is the
# command. The input is a pipe without data; it is closed once the file "closed" has been written.
# The file is written, not only created: NFS clients cache that a file is missing. Braces are
# doubled for str.format.
_THERE = """\
exec >"$1/out" 2>"$1/err"
[ -n "$2" ] || exec sh -c "$3" </dev/null
while [ ! -s "$1/closed" ]; do sleep 1; done | {{
  sh -c "$3"
  status=$?
  echo >"$1/closed"
  exit $status
}}"""

# A BatchSystem's ``shell_line`` for a program called with a host and the words of a command. The
# files are in a folder beside the script, which all hosts see; output appears at the command's end.
# The other host uses this PATH, because PBS's own PATH may name the same compiler by another path,
# which would cause another build.
RELAYED = f"""\
folder=$(mktemp -d "$(dirname "$0")/relay-XXXXXXXX") || exit 255
reader=
task=
trap 'rm -rf "$folder"; kill $reader $task 2>/dev/null' EXIT
trap 'exit 143' HUP INT TERM
: >"$folder/out"
: >"$folder/err"
: >"$folder/closed"
open=
if [ -p /dev/stdin ]; then
  open=yes
  exec 3<&0
  {{{{ while read -r _; do :; done; echo >"$folder/closed"; }}}} <&3 &
  reader=$!
fi
{{program}} "$host" /usr/bin/env "PATH=$PATH" /bin/sh -c '{_THERE}' sh "$folder" "$open" "$*" &
task=$!
wait $task
status=$?
task=
cat "$folder/err" >&2
cat "$folder/out"
exit $status"""
