#!/bin/sh
# The hash of mlp's variables after 50 steps on a backend; what a backend has no kernels for runs on cpu.so.
#   train_hash.sh TENON NAME PATH      PATH: folders with backends, TENON_PLUGIN_PATH
set -eu
flags=
[ "$2" = example ] || flags=--soft_placement
out=$(TENON_PLUGIN_PATH=$3 "$1" train mlp --synthetic --noevaluate --train_steps 50 --json --device "$2" $flags 2>&1) || {
  echo "$out" | tail -n 1 >&2
  exit 1
}
echo "$out" | sed -n 's/.*"hash": "\([0-9a-f]*\)".*/\1/p'
