#!/bin/sh
# Runs the conformance suite under the thread sanitizer on every mutant that lacks a lock: the tests that are meant to
# catch it must fail, by a report of the sanitizer or by what comes of the race, and none as long as nothing is wrong.
#   run_races.sh TENON_CONFORM MUTANTS.so RACES.txt LIBTSAN.so      RACES.txt has lines "name tests"
set -u
conform=$1 library=$2 list=$3 sanitizer=$4
log=$(mktemp)
trap 'rm -f "$log"' EXIT
unset TENON_MUTANT

conform() {  # MUTANT TESTS
  env ${1:+TENON_MUTANT=$1} LD_PRELOAD="$sanitizer" "$conform" "$library" --spec units=4 --filter "$2" --samples 1 \
    --timeout-scale 10 >"$log" 2>&1
}

control=$(cut -d ' ' -f 2- "$list" | sort -u | paste -s -d '|' -)
conform '' "$control" || {
  cat "$log"
  echo "control: the sanitizer reports without a mutant"
  exit 1
}
echo "control $(tail -n 1 "$log")"

caught=0 all=0 missed=
while read -r name tests; do
  all=$((all + 1))
  conform "$name" "$tests"
  if [ $? -eq 1 ] && grep -q 'FAIL' "$log"; then
    caught=$((caught + 1))
    printf 'caught  %-48s %s\n' "$name" "$(grep -m 1 -e 'ThreadSanitizer' -e 'FAIL' "$log" | cut -c 1-120)"
  else
    printf 'MISSED  %-48s %s: %s\n' "$name" "$tests" "$(tail -n 1 "$log")"
    missed="$missed $name"
  fi
done <"$list"
echo "mutants caught: $caught of $all"
[ -z "$missed" ] || { echo "missed:$missed"; exit 1; }
