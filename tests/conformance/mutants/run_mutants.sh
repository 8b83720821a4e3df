#!/bin/sh
# Runs the conformance suite on every mutant: each must fail the tests that are meant to catch it, which nothing may fail
# as long as nothing is wrong.
#   run_mutants.sh TENON_CONFORM MUTANTS.so MUTANTS.txt [N]     of the mutants every Nth
# Tests of one unit open one of the four.
set -u
conform=$1 library=$2 list=$3 step=${4:-1}
log=$(mktemp) tried=$(mktemp)
trap 'rm -f "$log" "$tried"' EXIT
awk -v step="$step" 'NR % step == 1 % step' "$list" >"$tried"
unset TENON_MUTANT

# The control: the library with no mistake chosen. Kernels and models (op, training) are left to conform_example, which
# runs all of them on the same code; queues, memory, programs and the table are not, as queues here have threads.
control=$(cut -d ' ' -f 2- "$tried" | grep -v -e '^^op/' -e '^^training/' | sort -u | paste -s -d '|' -)
"$conform" "$library" --spec units=4 --sdk-runtime --filter "$control" --samples 23 --timeout-scale 0.5 >"$log" 2>&1 || {
  cat "$log"
  echo "control: the library fails without a mutant"
  exit 1
}
echo "control $(tail -n 1 "$log")"

caught=0 all=0 missed=
while read -r name tests; do
  all=$((all + 1))
  TENON_MUTANT=$name "$conform" "$library" --spec units=4 --sdk-runtime --filter "$tests" --samples 23 --timeout-scale 0.5 >"$log" 2>&1
  code=$?
  # A failure is a failing test, not a mutant that no test was tried on.
  if [ "$code" -eq 1 ] && grep -q 'FAIL' "$log"; then
    caught=$((caught + 1))
    printf 'caught  %-34s %s\n' "$name" "$(grep -m 1 'FAIL' "$log" | cut -c 1-140)"
  else
    printf 'MISSED  %-34s %s (exit %s): %s\n' "$name" "$tests" "$code" "$(tail -n 1 "$log")"
    missed="$missed $name"
  fi
done <"$tried"
echo "mutants caught: $caught of $all"
[ -z "$missed" ] || { echo "missed:$missed"; exit 1; }
