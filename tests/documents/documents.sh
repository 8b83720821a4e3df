#!/bin/bash
# Runs the blocks of one document in their order, in a directory of its own.
#   documents.sh TENON DOCUMENTS_TEST STEPS
. "$(dirname "$0")/../integration/runner_lib.sh"
program=$2 steps=$3
PATH=$(dirname "$tenon"):$PATH
blocks=$(dirname "$steps")
[ -x "$program" ] || { complain "there is no program '$program': build documents_test"; finish; }
[ -s "$steps" ] || { complain "there are no steps in '$steps': build documents_test, which takes the blocks out of the document"; finish; }
cd "$work" || exit 1

# Each line that the document shows stands in what the command printed, in that order; ".." in a line is anything.
shown() {
  local at=0 line next
  while IFS= read -r line; do
    [ "$line" != .. ] || continue
    next=$(tail -n +$((at + 1)) out | awk -v line="$line" '
      BEGIN { n = split(line, parts, /\.\./) }
      { rest = $0; ok = 1
        for (i = 1; i <= n && ok; ++i) { p = index(rest, parts[i]); ok = parts[i] == "" || (i == 1 ? p == 1 : p > 0)
          if (ok && parts[i] != "") rest = substr(rest, p + length(parts[i])) }
        if (ok && (parts[n] == "" || rest == "")) { print NR; exit } }')
    [ -n "$next" ] || { complain "$1: no line '$line' in: $(tail -n +$((at + 1)) out)"; return; }
    at=$((at + next))
  done
}

# A transcript: commands behind "$ ", each with what it prints.
console() {
  local command='' lines=()
  flush() {
    [ -n "$command" ] || return
    bash -c "$command" > out 2>&1
    [ ${#lines[@]} -eq 0 ] || shown "$1: $command" < <(printf '%s\n' "${lines[@]}")
    lines=()
  }
  while IFS= read -r line; do
    case $line in
      '$ '*) flush "$1"; command=${line#'$ '} ;;
      *) if [ -n "$command" ]; then lines+=("$line"); else eval "$line"; fi ;;
    esac
  done < "$blocks/$1"
  flush "$1"
}

while read -r how what prints; do
  case $how in
    cpp) "$program" "$what" > out 2>&1 || complain "$what: $(cat out)"
         [ -z "$prints" ] || [ "$(tail -n 1 out)" = "$prints" ] || complain "$what: expected '$prints', printed: $(cat out)" ;;
    shell) ( set -e; . "$blocks/$what" ) > out 2>&1 || complain "$what: $(cat out)" ;;
    console) console "$what" ;;
  esac
done < "$steps"
finish
