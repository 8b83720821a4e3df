#!/bin/sh
# tenon-conform --validate: the layer finds nothing in backends that are right, and names what is wrong in one that is not.
#   conform_validated.sh TENON_CONFORM CPU.so EXAMPLE.so MUTANTS.so
set -u
conform=$1 cpu=$2 example=$3 mutants=$4
log=$(mktemp)
trap 'rm -f "$log"' EXIT
unset TENON_MUTANT
failed=0

complain() {
  echo "conform_validated: $*" >&2
  cat "$log" >&2
  failed=1
}

# Of each suite something; load, leaks and what breaks the contract on purpose are then run without the layer.
tests='^(load/table|device|memory|queue|feed|program|errors/mistakes|op/(neg|concat|sort)|training/mlp|leaks/queues)'
for library in "$cpu" "$example"; do
  "$conform" "$library" --validate --filter "$tests" >"$log" 2>&1 || complain "$library: failed"
  for suite in load device memory queue program op training; do
    grep -Eq "^$suite/.* pass" "$log" || complain "$library: nothing of $suite passed"
  done
done

# What no test without the layer looks for, and what some do: the line, the failing test, the command with the option. A backend
# that breaks the contract loses what it made, of which a sanitizer would tell.
expect() {
  mutant=$1 filter=$2 line=$3
  ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 TENON_MUTANT=$mutant "$conform" "$mutants" --validate --filter "$filter" >"$log" 2>&1
  [ $? -eq 1 ] || complain "$mutant: expected exit code 1"
  grep -q "backend example broke the contract in $line" "$log" || complain "$mutant: expected '$line'"
  grep -q "tenon-conform .*example.so --validate --seed 1 --filter " "$log" || complain "$mutant: no command"
}
expect host-pointer-for-any-buffer '^memory/host' 'buffer_alloc: gave memory for a buffer that is not HOST'
expect flags-of-open-ignored '^device/flags/device_open' 'device_open: took a tenon_open with flags'

# What goes wrong on all buffers is not told as if it were a matter of where they lie.
TENON_MUTANT=last-element-missing "$conform" "$mutants" --filter '^op/neg/f32\[7\]$' >"$log" 2>&1
grep -q 'op/neg/f32\[7\]: at \[6\]: found ' "$log" || complain "last-element-missing: expected the element alone"

# A file's name reaches the terminal as text alone.
name=$(mktemp -d)/$(printf '\033[31mred\nsecond').so
echo 'no library' >"$name"
"$conform" "$name" >"$log" 2>&1
[ $? -eq 2 ] || complain "a file that is no library: expected exit code 2"
[ "$(wc -l <"$log")" -eq 1 ] || complain "a file that is no library: expected one line"
[ "$(LC_ALL=C tr -d '\040-\176\n' <"$log" | wc -c)" -eq 0 ] || complain "a name is printed raw"
# Control: it has what would be printed.
[ "$(printf %s "$name" | LC_ALL=C tr -d '\040-\176\n' | wc -c)" -eq 1 ] || complain "control: the name is harmless"
rm -r "$(dirname "$name")"

exit $failed
