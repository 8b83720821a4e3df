#!/bin/sh
# The backends that were built when a version of the C ABI was published, and are never built again: they load, pass the
# suite's quick groups, and train to the bits that are kept beside them. Another C library or processor may give others: then
# to those of the same sources built today.
#   history_test.sh TENON CONFORM HISTORY TODAY..      TODAY: folders with example.so, skeleton.so and cpu.so of today
set -eu
tenon=$1 conform=$2 history=$3
shift 3
unset TENON_PLUGIN_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
today=$(printf ':%s' "$@")
failures=0 tried=0
complain() {
  echo "history_test: $*" >&2
  failures=$((failures + 1))
}

here=$(dirname "$0")
hash() { # PATH NAME
  "$here/train_hash.sh" "$tenon" "$2" "$1" 2>"$work/out" || echo "none, it does not train: $(tail -n 1 "$work/out")"
}

for packed in "$history"/*/x86_64-linux/*.so.gz; do
  [ -f "$packed" ] || continue
  name=$(basename "$packed" .so.gz)
  version=$(basename "$(dirname "$(dirname "$packed")")")
  kept=$work/$version-$name
  mkdir "$kept"
  gzip -dc "$packed" >"$kept/$name.so"
  tried=$((tried + 1))
  "$conform" "$kept/$name.so" --samples 1 --filter '^(load|device|memory|queue|program|feed|errors)/' >"$work/out" 2>&1 ||
    complain "$name of $version in the suite: $(grep -m 3 -E 'FAIL|fail|^tenon-conform' "$work/out")"
  expected=$(sed -n "s/^$name //p" "$(dirname "$packed")/hashes")
  found=$(hash "$kept$today" "$name")
  [ -n "$expected" ] && [ "$found" = "$expected" ] && continue
  now=$(hash "${today#:}" "$name")
  case $found in
    none*) complain "$name of $version: $found" ;;
    "$now") echo "history_test: $name of $version trains to '$found' here, as its source does; '$expected' is kept" ;;
    *) complain "$name of $version trains to '$found', expected '$expected'; the same source built today gives '$now'" ;;
  esac
done
[ "$tried" -gt 0 ] || complain "no binaries in $history"

# One of another major version is refused in one line, before any of its code runs.
perl -0777 -pe 's/(\x06\0\0\0\x0c\0\0\0\x01\0\0\0Tenon\0\0\0)\x01/$1\x07/ or die' "$kept/$name.so" >"$work/$name.so"
TENON_PLUGIN_PATH=$work "$tenon" train mlp --synthetic --train_steps 1 --device "$name" >"$work/out" 2>&1 &&
  complain "$name of major version 7 was loaded"
[ "$(wc -l <"$work/out")" -eq 1 ] && grep -q 'ABI version 7\.0' "$work/out" || complain "major version 7: $(cat "$work/out")"

echo "history_test: $tried binaries, $failures failures"
[ "$failures" -eq 0 ]
