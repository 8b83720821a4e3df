#!/bin/sh
# Packs what was built into one archive that runs wherever it is unpacked: runner, backends, conformance suite, the libraries
# that they need, a sample of images, a script that tries it all (share/kit/run).
#   share/kit/make_kit.sh CMAKE BUILD OUTPUT
# IMAGES names another directory of gzip'd IDX files. Prints the archive's name.
set -eu
cmake=$1 build=$2 output=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
images=${IMAGES:-/usr/share/datasets/fashion-mnist}
most=$((50 * 1024 * 1024))  # bytes of the archive

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "make_kit: $*" >&2
  exit 1
}
[ -d "$images" ] || fail "no $images; run: share/install_packages.sh data"

name=tenon-$("$build/bin/tenon" --version | awk '{print $NF; exit}')-linux-$(uname -m)
kit=$work/$name

# What the package `tenon` has, without what programs are built with; and the suite.
"$cmake" --install "$build" --component tenon --prefix "$kit" --strip >/dev/null
rm -rf "$kit/include" "$kit/lib/cmake" "$kit/lib/pkgconfig" "$kit"/lib/*.a
rm -rf "$kit/share/doc/tenon/apps" "$kit/share/doc/tenon/user_project"
cp "$build/bin/tenon-conform" "$kit/bin/"
strip "$kit"/bin/*
cp "$source/share/kit/run" "$source/share/kit/README" "$source/LICENSE" "$kit/"

# All libraries but the C library's own, which goes with the system's kernel and loader, and OpenCL's loader, which goes with
# the drivers.
ldd "$kit"/bin/* "$kit"/lib/tenon/*.so | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util|OpenCL))\.so\.[0-9]+$' >"$work/libraries"
while read -r library; do cp -L "$library" "$kit/lib/"; done <"$work/libraries"
missing=$(ldd "$kit"/bin/* "$kit"/lib/tenon/*.so | grep 'not found' | grep -v OpenCL || true)
[ -z "$missing" ] || fail "libraries are missing here: $missing"

# take FROM TO COUNT BYTES HEADER: the first COUNT items of an IDX file, which has HEADER bytes in front.
take() {
  {
    gzip -dc "$1" | head -c 4
    printf "\\$(printf %03o $(($3 >> 24 & 255)))\\$(printf %03o $(($3 >> 16 & 255)))"
    printf "\\$(printf %03o $(($3 >> 8 & 255)))\\$(printf %03o $(($3 & 255)))"
    gzip -dc "$1" | tail -c +9 | head -c $(($5 - 8 + $3 * $4))
  } >"$2"
}
# sample PART COUNT: as many images, or all that there are.
sample() {
  count=$(gzip -dc "$images/$1-labels-idx1-ubyte.gz" | od -An -tu1 -j4 -N4 | awk '{print (($1 * 256 + $2) * 256 + $3) * 256 + $4}')
  pixels=$(gzip -dc "$images/$1-images-idx3-ubyte.gz" | od -An -tu1 -j8 -N8 | awk '{print ($3 * 256 + $4) * ($7 * 256 + $8)}')
  [ "$count" -le "$2" ] || count=$2
  take "$images/$1-images-idx3-ubyte.gz" "$work/idx/$1-images-idx3-ubyte" "$count" "$pixels" 16
  take "$images/$1-labels-idx1-ubyte.gz" "$work/idx/$1-labels-idx1-ubyte" "$count" 1 8
}
mkdir "$work/idx"
sample train 10000
sample t10k 2000
"$build/bin/tenon" convert idx --input "$work/idx" --output "$kit/data" >/dev/null

mkdir -p "$output"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9 >"$work/archive"
size=$(wc -c <"$work/archive")
[ "$size" -le $most ] || fail "the archive has $size bytes, expected at most $most"
mv "$work/archive" "$output/$name.tar.gz"
echo "$output/$name.tar.gz"
