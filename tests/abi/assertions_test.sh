#!/bin/sh
# Every place, size and number of each published layout holds in the present headers, at compile time, in C11 and in C++17.
#   assertions_test.sh ROOT        with $CC and $CXX
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# layout.txt as assertions. Structs may grow, and the minor version may rise.
assertions() { # layout.txt
  for header in "$root"/sdk/include/tenon/abi/*.h; do echo "#include \"tenon/abi/$(basename "$header")\""; done
  awk '
    function holds(what, is, expected) { printf "_Static_assert(%s == %s, \"%s: expected %s\");\n", is, expected, what, expected }
    BEGIN {
      print "#include <stddef.h>\n#ifdef __cplusplus\n#define _Static_assert static_assert\n#endif"
      print "_Static_assert(sizeof(void*) == 8, \"64 bits\");"
    }
    $1 == "struct" { printf "_Static_assert(sizeof(%s) >= %s, \"size of %s\");\n", $2, $3, $2 }
    $1 == "field" {
      split($2, name, ".")
      holds("offset of " $2, "offsetof(" name[1] ", " name[2] ")", $3)
      holds("size of " $2, "sizeof(((" name[1] "*)0)->" name[2] ")", $4)
    }
    $1 == "number" && $2 != "TENON_ABI_MINOR" { holds($2, "(long long)(" $2 ")", $3) }' "$1"
}
compile() { # include directory
  "${CC:-cc}" -std=c11 -fsyntax-only -I"$1" -x c "$work/assertions" 2>"$work/out" &&
    "${CXX:-c++}" -std=c++17 -fsyntax-only -Wno-keyword-macro -I"$1" -x c++ "$work/assertions" 2>"$work/out"
}
fail() {
  echo "assertions_test: $*" >&2
  exit 1
}

for layout in "$root"/sdk/abi-history/*/layout.txt; do
  assertions "$layout" >"$work/assertions"
  compile "$root/sdk/include" || fail "$layout does not hold: $(grep -m 3 error "$work/out")"
  count=$(grep -c '^_Static_assert' "$work/assertions")
  [ "$count" -gt 400 ] || fail "$layout: expected more than 400 assertions, found $count"

  # A field that moved is seen.
  cp -r "$root/sdk/include" "$work/moved"
  sed 's/  uint32_t domain;/  uint32_t before; uint32_t domain;/' "$root/sdk/include/tenon/abi/device.h" >"$work/moved/tenon/abi/device.h"
  compile "$work/moved" && fail "$layout: tenon_unit.domain moved, and nothing was said"
  grep -q 'offset of tenon_unit.domain' "$work/out" || fail "tenon_unit.domain moved, found: $(grep -m 1 error "$work/out")"
  rm -r "$work/moved"
  echo "assertions_test: $layout: $count assertions hold"
done
