#!/bin/bash
# The archive of `make kit`, of small images: what is in it, and that it runs where it is unpacked, with nothing of this tree.
#   kit.sh TENON CMAKE BUILD SOURCE
cmake=$2 build=$3 source=$4
. "$(dirname "$0")/runner_lib.sh"

make_idx "$work/idx" 256 96
gzip "$work"/idx/*
archive=$(IMAGES=$work/idx "$source/share/kit/make_kit.sh" "$cmake" "$build" "$work/made") || complain "make_kit: $archive"
mkdir -p "$work/elsewhere" "$work/home"
tar -C "$work/elsewhere" -xzf "$archive" || complain "cannot unpack $archive"
kit=$(echo "$work"/elsewhere/tenon-*)

for file in run README LICENSE bin/tenon bin/tenon-conform lib/tenon/cpu.so lib/tenon/opencl-gpu.so lib/tenon/tpu-emulator.so \
  share/man/man1/tenon.1 share/doc/tenon/README.md share/tenon/tpu/v3-8.json data/train-00000-of-00001; do
  [ -s "$kit/$file" ] || complain "the kit has no $file"
done
[ ! -e "$kit/include" ] && [ -z "$(find "$kit" -name '*.a')" ] || complain 'the kit has what programs are built with'
stray=$(grep -rlI -e "$source" -e "$build" "$kit")
[ -z "$stray" ] || complain "the build tree is named in $stray"

# Libraries come from the kit or are the C library's own; paths to them begin at the program.
for file in "$kit"/bin/* "$kit"/lib/tenon/*.so; do
  paths=$(readelf -d "$file" | sed -n 's/.*\(RPATH\|RUNPATH\).*\[\(.*\)\]/\2/p')
  [ -z "$paths" ] || [ "$paths" = '$ORIGIN/../lib' ] || complain "$file looks for libraries in $paths"
done
outside=$(env -i /lib64/ld-linux-x86-64.so.2 --list "$kit/bin/tenon" 2>&1 | awk '$2 == "=>" {print $3}' | grep -v "^$kit/" |
  grep -vE '/(ld-linux[^/]*|lib(c|m))\.so\.[0-9]$')
[ -z "$outside" ] || complain "bin/tenon takes from outside: $outside"

env -i PATH=/usr/bin:/bin HOME="$work/home" "$kit/run" --short cpu >"$work/out" 2>"$work/err" ||
  complain "run: exit code $?: $(cat "$work/err" "$work/out")"
[ ! -s "$work/err" ] || complain "run wrote to standard error: $(cat "$work/err")"
for line in '^== cpu' 'pass, 0 fail' 'products and convolutions:' '64x64x64' 'test accuracy [01]'; do
  grep -Eq "$line" "$work/out" || complain "run does not print '$line': $(cat "$work/out")"
done
env -i PATH=/usr/bin:/bin HOME="$work/home" "$kit/bin/tenon" devices >"$work/out"
grep -q "^cpu .*$kit/lib/tenon/cpu.so" "$work/out" || complain "devices: $(cat "$work/out")"
env -i PATH=/usr/bin:/bin HOME="$work/home" "$kit/run" --short nosuch >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q "no device 'nosuch'" "$work/err" || complain "run nosuch: $(cat "$work/err")"
finish
