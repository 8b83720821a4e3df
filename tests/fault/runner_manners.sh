#!/bin/bash
# A backend that prints as it is loaded or in a thread does not get into what the runner prints; one whose thread calls exit(0)
# does not end a run with success.
#   runner_manners.sh TENON SPECIMENS
. "$(dirname "$0")/../integration/runner_lib.sh"
specimens=$2
export TENON_PLUGIN_PATH="$work/plugins"
mkdir -p "$TENON_PLUGIN_PATH"

# What "specimen" does is in its file's name and its spec.
add() { cp "$specimens/specimen.so" "$TENON_PLUGIN_PATH/$1.so"; }
steps() { "$tenon" bench step mlp_tiny --json --device "$1" 2>"$work/errors"; }

for device in constructor-print init-print specimen:run-print; do
  add "${device%%:*}"
  steps "$device" >"$work/out" || complain "$device: exit code $?: $(cat "$work/errors")"
  grep -q '^{"event": "result"' "$work/out" || complain "$device: no result: $(cat "$work/out")"
  grep -v '^{.*}$' "$work/out" && complain "$device: printed among the runner's lines"
  grep -q '^printed by a' "$work/errors" || complain "$device: what it printed is not on standard error"
done
"$tenon" devices --json >"$work/out" 2>"$work/errors" || complain "devices: exit code $?"
grep -v '^{.*}$' "$work/out" && complain "devices: a backend printed among the runner's lines"

# Here a thread ends the program in the middle of a step: exit(0) is not 0.
steps specimen:run-exit >"$work/out"
code=$?
[ $code -eq 70 ] || complain "exit(0) of a thread: exit code $code, expected 70"
grep -q '^{"event": "result"' "$work/out" && complain "exit(0) of a thread: there is a result"
grep -q 'tenon: a backend called exit()' "$work/errors" || complain "exit(0) of a thread: $(cat "$work/errors")"
finish
