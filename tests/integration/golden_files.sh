#!/bin/sh
# Each file of tests/golden is read by a test: numbers that nobody compares with prove nothing.
#   golden_files.sh TESTS
set -eu
cd "$1"
unread=
for file in golden/*; do
  name=$(basename "$file")
  # Named in a string of the code, not in a comment.
  tests=$(grep -rlE --include='*.cc' --include='*.h' "^([^/\"]|/[^/])*\"[^\"]*$name[^\"]*\"" unit integration | sort | tr '\n' ' ')
  [ -n "$tests" ] || unread="$unread $name"
  echo "$name: $tests"
done
[ -z "$unread" ] || {
  echo "golden_files: no test reads$unread" >&2
  exit 1
}
