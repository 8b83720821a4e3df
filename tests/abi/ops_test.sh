#!/bin/sh
# What a frozen version of the ABI promises of the ops is still there, to the letter: operands and their places, attributes with
# their types and what their absence means, results, numbers of enumerations, to which others may be appended. A version has all
# primitives there are: one more needs a higher minor version; composites, which a backend may leave to their decompositions, do not.
#   ops_test.sh PRESENT HISTORY VERSION      PRESENT: ops.txt of this build; VERSION: that of the headers
set -eu
present=$1 history=$2 version=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints what is wrong with a table beside that of a version.
missing() { # published present
  awk '
    NR == FNR { if ($1 == "op") op[$0] = 1; else number[$2] = $0; next }
    $1 == "op" && !($0 in op) { print "gone: " $0 }
    $1 == "enum" && index(number[$2] " ", $0 " ") != 1 { print "gone: " $0 }' "$2" "$1"
}
new_primitives() { # published present
  awk '
    NR == FNR { known[$2] = 1; next }
    $1 == "op" && $4 == "primitive" && !($2 in known) { print "needs a higher TENON_ABI_MINOR: " $0 }' "$1" "$2"
}

failures=0
fail() { echo "ops_test: $*"; failures=$((failures + 1)); }
for at in "$history"/*/; do
  [ "$(cat "$at/status")" = frozen ] || continue
  missing "$at/ops.txt" "$present" >"$work/found"
  [ "$(basename "$at")" != "$version" ] || new_primitives "$at/ops.txt" "$present" >>"$work/found"
  [ ! -s "$work/found" ] || fail "version $(basename "$at"): $(cat "$work/found")"
done

# It notices what it should.
notices() { # sed-script expected
  sed "$1" "$present" >"$work/changed"
  { missing "$present" "$work/changed"; new_primitives "$present" "$work/changed"; } >"$work/found"
  grep -qF -- "$2" "$work/found" || fail "after '$1' expected '$2', found: $(cat "$work/found")"
}
notices 's/^op conv 1 primitive x:F w:F/op conv 1 primitive w:F x:F/' 'gone: op conv 1 primitive x:F w:F'
notices 's/\(^op conv .*\)groups:i64=1/\1groups:i64=2/' 'gone: op conv'
notices '/^op logsumexp /d' 'gone: op logsumexp'
notices 's/^enum reduce 0 sum prod/enum reduce 0 prod sum/' 'gone: enum reduce 0 sum prod'
notices 's/^op exp 1 .*/&\nop erfcx 1 primitive x:F -> y/' 'needs a higher TENON_ABI_MINOR: op erfcx'
sed 's/^enum reduce .*/& mean/; s/^op exp 1 .*/&\nop erfcx 1 composite x:F -> y/' "$present" >"$work/changed"
missing "$present" "$work/changed" >"$work/found"
new_primitives "$present" "$work/changed" >>"$work/found"
[ ! -s "$work/found" ] || fail "what may be appended is refused: $(cat "$work/found")"
[ $failures -eq 0 ]
