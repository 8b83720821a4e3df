#!/bin/bash
# What `run` says of rows that hold, fail, cannot run, or say nothing.
#   run_test.sh
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/rows" "$work/build/release/bin"
cp "$(dirname "$0")/run" "$work/rows/run"
printf '#!/bin/sh\n' >"$work/build/release/bin/tenon"
failures=0
complain() {
  echo "FAILED: $*: $(cat "$work/out")"
  failures=$((failures + 1))
}
row() {  # FILE COMMAND
  printf '#!/bin/bash\n%s\n' "$2" >"$work/rows/$1"
}
row row_01_holds 'echo noise; echo "row 1: nothing is lost | asked: 500 kills | seen: $2 seconds | control: no fsync, caught 3 of 3"'
row row_02_fails 'echo "reason" >&2; echo "row 2: it holds | asked: 1 | seen: 2 | control: none"; exit 1'
row row_03_absent 'echo "row 3: it holds | asked: 1 | seen: no such driver here | control: none"; exit 77'
row row_04_silent 'exit 0'
echo 'int main() {}' >"$work/rows/row_05_source.cc"
chmod +x "$work"/rows/* "$work/build/release/bin/tenon"

expect() {  # CODE PATTERN ARGUMENT..
  local code=$1 pattern=$2
  shift 2
  "$work/rows/run" --build "$work/build/release" "$@" >"$work/out" 2>&1
  local found=$?
  [ "$found" -eq "$code" ] || complain "run $*: exit code $found, expected $code"
  grep -qE -e "$pattern" "$work/out" || complain "run $*: expected '$pattern'"
}
expect 0 '^1 +nothing is lost +500 kills +7 seconds +no fsync, caught 3 of 3 +[0-9]+ +pass$' --seconds 7 1
expect 0 '^1 +nothing is lost +500 kills +3600 seconds' --hours 2 1 3
expect 0 '^3 .*no such driver here .*cannot run$' 03
expect 1 '^2 .*FAIL$' 1 2
expect 1 '^reason$' 2
expect 1 "exit code 0 without a line .*" 4
expect 1 '^4 rows, 2 failed'
expect 2 'there is no row 9; there are: 1 2 3 4$' 9
expect 2 "ROWS 'x': expected a whole number" x
expect 2 "seconds '0': expected a whole number" --seconds 0
[ "$failures" -eq 0 ] && echo "all as expected"
