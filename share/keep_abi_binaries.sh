#!/bin/sh
# Builds the backends that sdk/abi-history keeps of the present C ABI, as their authors would: from an installed SDK.
#
#   share/keep_abi_binaries.sh [--history DIR] BUILD       BUILD: a release build of Tenon, up to date
#
# `example` is sdk/example, on the SDK's runtime; `skeleton` is what `tenon-new-backend --abi` writes, in C on the ABI alone.
# Beside them stand the hashes of what they train to, above them what is promised of the ops. They are stripped and packed, and run on Debian 12 and whatever is newer. A frozen version keeps those that it has.
# Needs x86-64 Linux, cmake, a C and a C++ compiler, strip, objdump, gzip.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
history=$root/sdk/abi-history
newest_libraries='GLIBC_2.36 GLIBCXX_3.4.30 CXXABI_1.3.13 GCC_12.0.0'  # Debian 12's

fail() {
  echo "keep_abi_binaries: $*" >&2
  exit 1
}
usage() {
  sed -n '4s/^# *//p' "$0" >&2
  exit 2
}
if [ "${1-}" = --history ]; then
  [ $# -ge 2 ] || usage
  history=$2
  shift 2
fi
[ $# -eq 1 ] || usage
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

number() { sed -n "s/^#define TENON_ABI_$1 \([0-9]*\)u.*/\1/p" "$root/sdk/include/tenon/abi/types.h"; }
version=$(number MAJOR).$(number MINOR)
at=$history/$version
[ -f "$at/status" ] || fail "version $version is not in $history; share/check_abi.sh --snapshot writes it down"
[ "$(cat "$at/status")" = draft ] || fail "version $version is $(cat "$at/status"); it keeps the binaries of that day. Raise TENON_ABI_MINOR"
diff -rq "$root/sdk/include/tenon/abi" "$at/tenon/abi" >"$work/log" ||
  fail "the headers are not those of $at ($(head -n 1 "$work/log")); take a new snapshot (share/check_abi.sh --snapshot)"
machine=$(uname -m)-linux
[ "$machine" = x86_64-linux ] || fail "binaries are kept of x86_64-linux; this is $machine"
[ -f "$build/CMakeCache.txt" ] || fail "no build of Tenon in $build"

step() {
  "$@" >"$work/log" 2>&1 && return
  tail -n 20 "$work/log" >&2
  fail "$1 failed; its own words stand above"
}
# The last of these version names in the order of their numbers.
newest() { sort -V | tail -n 1; }
check_libraries() { # LIB.so
  objdump -T "$1" | grep -o '\(GLIBC\|GLIBCXX\|CXXABI\|GCC\)_[0-9.]*' | sort -u >"$work/needed"
  for most in $newest_libraries; do
    found=$(grep "^${most%%_*}_" "$work/needed" | newest)
    [ "$(printf '%s\n%s\n' "$most" "$found" | newest)" = "$most" ] ||
      fail "$(basename "$1") needs $found; Debian 12 has $most: build it there"
  done
}

: >"$work/hashes"
step cmake --install "$build" --component sdk --prefix "$work/sdk"
cp -r "$root/sdk/example" "$work/example"
step "$work/sdk/bin/tenon-new-backend" --abi skeleton "$work/skeleton"
mkdir -p "$at/$machine"
for name in example skeleton; do
  step cmake -S "$work/$name" -B "$work/$name/build" -DCMAKE_PREFIX_PATH="$work/sdk" -DCMAKE_BUILD_TYPE=MinSizeRel
  step cmake --build "$work/$name/build"
  library=$work/$name/build/$name.so
  strip "$library"
  check_libraries "$library"
  gzip -9nc "$library" >"$at/$machine/$name.so.gz"
  hash=$(HOME=$work "$root/tests/abi/train_hash.sh" "$build/bin/tenon" "$name" "$work/$name/build:$build/lib/tenon") ||
    fail "$name does not train"
  echo "$name $hash" >>"$work/hashes"
  echo "keep_abi_binaries: $at/$machine/$name.so.gz: $(wc -c <"$at/$machine/$name.so.gz") bytes, unpacked $(wc -c <"$library")"
done
cp "$work/hashes" "$at/$machine/hashes"
cp "$build/sdk/ops.txt" "$at/ops.txt"
cat "$at"/tenon/abi/*.h | sha256sum | cut -d ' ' -f 1 >"$at/$machine/headers.sha256"
