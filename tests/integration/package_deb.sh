#!/bin/sh
# The Debian packages of what has been built, unpacked into a root of their own: what is in them, and that it works there.
#   package_deb.sh CMAKE BUILD SOURCE [CMAKE FLAGS..]
set -eu
cmake=$1 build=$2 source=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TENON_PLUGIN_PATH
cd "$work"

fail() {
  echo "package_deb: $*" >&2
  exit 1
}
step() {
  name=$1
  shift
  "$@" >"$work/log" 2>&1 && return
  echo "package_deb: $name failed:" >&2
  tail -n 40 "$work/log" >&2
  exit 1
}

# Nothing is built for it. Not compressed, and without a look at what libraries they need where that look is not to be had.
depends=ON
command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null || depends=OFF
step cpack "${cmake%cmake}cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" \
  -D CPACK_DEBIAN_COMPRESSION_TYPE=none -D CPACK_DEBIAN_PACKAGE_SHLIBDEPS=$depends

tenon=$(echo packages/tenon_*.deb) sdk=$(echo packages/tenon-sdk_*.deb)
expected=2
if [ -e "$build/lib/tenon/pictures/cairo.so" ]; then  # as mpi.so below
  expected=$((expected + 1)) pictures=$(echo packages/tenon-pictures_*.deb)
  dpkg-deb -c "$pictures" | grep -q '/tenon/pictures/cairo\.so$' || fail "$pictures: no cairo.so"
  [ "$depends" = OFF ] || ! dpkg-deb -f "$tenon" Depends | grep -E 'cairo|pango' || fail "$tenon: needs cairo"
fi
if [ -e "$build/lib/tenon/transport/mpi.so" ]; then  # a package of its own, so that the others need no MPI
  expected=$((expected + 1)) mpi=$(echo packages/tenon-mpi_*.deb)
  dpkg-deb -c "$mpi" | grep -q '/tenon/transport/mpi\.so$' || fail "$mpi: no mpi.so"
  [ "$depends" = OFF ] || ! dpkg-deb -f "$tenon" Depends | grep mpi || fail "$tenon: needs MPI"
fi
if [ -d "$build/lib/tenon/server" ]; then  # likewise
  expected=$((expected + 1)) server=$(echo packages/tenon-server_*.deb)
  for part in "$build"/lib/tenon/server/*.so; do
    dpkg-deb -c "$server" | grep -q "/tenon/server/$(basename "$part")$" || fail "$server: no $(basename "$part")"
  done
  [ "$depends" = OFF ] || ! dpkg-deb -f "$tenon" Depends | grep -E 'grpc|libssl' || fail "$tenon: needs gRPC or OpenSSL"
fi
if [ -e "$build/lib/tenon/files/hdf5.so" ]; then  # likewise
  expected=$((expected + 1)) hdf5=$(echo packages/tenon-hdf5_*.deb)
  dpkg-deb -c "$hdf5" | grep -q '/tenon/files/hdf5\.so$' || fail "$hdf5: no hdf5.so"
  [ "$depends" = OFF ] || ! dpkg-deb -f "$tenon" Depends | grep hdf5 || fail "$tenon: needs HDF5"
fi
[ "$(find packages -maxdepth 1 -name '*.deb' | wc -l)" -eq $expected ] && [ -s "$tenon" ] && [ -s "$sdk" ] ||
  fail "expected the packages tenon and tenon-sdk, found $(ls packages)"
for package in "$tenon" "$sdk"; do
  [ -n "$(dpkg-deb -f "$package" Description)" ] || fail "$package: no description"
  [ "$depends" = OFF ] || dpkg-deb -f "$package" Depends | grep -q libc6 || fail "$package: depends on no libc6"
done
# Neither brings what the other does, and both are of one version.
[ "$(dpkg-deb -f "$tenon" Version)" = "$(dpkg-deb -f "$sdk" Version)" ] || fail "the packages' versions differ"
dpkg-deb -c "$tenon" | awk '$1 !~ /^d/ {print $6}' | sort >tenon.files
dpkg-deb -c "$sdk" | awk '$1 !~ /^d/ {print $6}' | sort >sdk.files
both=$(comm -12 tenon.files sdk.files)
[ -z "$both" ] || fail "both packages bring $both"
stray=$(cat tenon.files sdk.files | grep -v '^\./usr/' || true)
[ -z "$stray" ] || fail "not below /usr: $stray"
! dpkg-deb -c "$tenon" | grep -v ' root/root ' || fail "the file above is not root's"

# in_package PACKAGE PATTERN..: extended regular expressions of files below usr.
in_package() {
  name=$1
  shift
  for pattern in "$@"; do
    grep -Eq "^\\./usr/$pattern\$" "$name.files" || fail "$name: no $pattern in it, but $(cat "$name.files")"
  done
}
lib='lib(/[a-z0-9_-]+-linux-gnu)?'
in_package tenon bin/tenon "$lib/tenon/cpu\\.so" "$lib/libtenon\\.a" include/tenon/estimator\\.h \
  "$lib/pkgconfig/tenon\\.pc" share/doc/tenon/writing_a_model\\.md share/doc/tenon/apps/models/fashion\\.cc \
  "$lib/cmake/Tenon/TenonConfig\\.cmake" share/man/man1/tenon\\.1 share/bash-completion/completions/tenon \
  share/doc/tenon/README\\.md share/doc/tenon/LICENSE
in_package sdk bin/tenon-conform bin/tenon-new-backend include/tenon/abi/plugin\\.h include/tenon/plugin/kernel\\.h \
  "$lib/libtenon_sdk_op\\.a" "$lib/libtenon_sdk_runtime\\.a" "$lib/cmake/TenonSDK/TenonSDKConfig\\.cmake" "$lib/pkgconfig/tenon-sdk\\.pc" \
  share/tenon/template/new-backend share/tenon/example/table\\.cc share/tenon/example-compiler/emit\\.cc \
  share/bash-completion/completions/tenon-conform share/doc/tenon-sdk/backend-author\\.md \
  share/doc/tenon-sdk/abi-reference\\.md share/doc/tenon-sdk/LICENSE

for package in "$tenon" "$sdk"; do dpkg-deb -x "$package" root; done
! grep -rlI -e "$source" -e "$build" root || fail "the files above name the source or build tree"

# The runner finds its backend in the root; a backend of the template comes to be there, is told apart and found.
step "tenon devices" root/usr/bin/tenon devices
grep -q '^cpu ' log || fail "tenon devices: $(cat log)"
step new-backend root/usr/bin/tenon-new-backend nova nova
step configure "$cmake" -S nova -B nova/build -DCMAKE_PREFIX_PATH="$work/root/usr" "$@"
step compile "$cmake" --build nova/build
step "tenon-conform" root/usr/bin/tenon-conform nova/build/nova.so --filter '^(load|op/add)/'
grep -Eq '^op/add .* pass' log || fail "tenon-conform: $(cat log)"
step "tenon devices" env TENON_PLUGIN_PATH="$work/nova/build" root/usr/bin/tenon devices
grep -q '^nova ' log || fail "tenon devices: $(cat log)"
