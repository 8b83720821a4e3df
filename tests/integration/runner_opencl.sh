#!/bin/bash
# opencl-gpu on whatever OpenCL offers here: what it says where there is nothing to open, that `fashion` trains to cpu.so's
# losses, and that programs which are kept, torn, or made by two processes at once do no harm.
#   runner_opencl.sh TENON
. "$(dirname "$0")/runner_lib.sh"

make_idx "$work/idx" 256 96
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json

no_platform='install the driver of your GPU, or pocl-opencl-icd to try it on the CPU'
expect 0 '' env OCL_ICD_VENDORS="$work/none" "$tenon" devices
grep -q "no device now: opencl-gpu: no OpenCL platform is installed .*$no_platform" "$work/out" || complain "devices without a platform: $(cat "$work/out")"
echo libnothing.so >"$work/nothing.icd"
expect 1 "$no_platform" env OCL_ICD_VENDORS="$work/nothing.icd" "$tenon" train fashion --data_dir "$work/data" \
  --model_dir "$work/model" --device opencl-gpu

"$tenon" devices | grep -A1 '^opencl-gpu ' | grep -q '^  0  ' || {
  echo "no OpenCL device here; install pocl-opencl-icd"
  exit 77
}

train() {  # MODEL_DIR DEVICE
  "$tenon" train fashion --data_dir "$work/data" --model_dir "$work/$1" --device "$2" --train_steps 30 \
    --train_batch_size 32 --json
}
expect 1 "opencl-gpu: no such spec: expected none, or the index of a device, 0 to" train bad opencl-gpu:99
refused() { expect 1 "$1" env "${@:2}" "$tenon" train fashion --data_dir "$work/data" --model_dir "$work/bad" --device opencl-gpu; }
refused "TENON_OPENCL_SHAPE: expected cpu or gpu, found 'disk'" TENON_OPENCL_SHAPE=disk
refused "TENON_OPENCL_WIDTH: expected 4, 8 or 16, found '5'" TENON_OPENCL_WIDTH=5
refused "TENON_OPENCL_VARIANT: expected a number from 0 to 999, found '-1'" TENON_OPENCL_VARIANT=-1
refused "TENON_OPENCL_MAX_ALLOC: expected bytes, 65536 or more, found '4k'" TENON_OPENCL_MAX_ALLOC=4k
if "$tenon" devices | grep -q PoCL; then
  refused 'TENON_OPENCL_SHAPE=gpu: expected at least work-groups of 256 and 17408 bytes of local memory, found work-groups of 64' \
    TENON_OPENCL_SHAPE=gpu POCL_MAX_WORK_GROUP_SIZE=64
fi

expect 0 '' train cpu cpu
cpu_loss=$(result loss)
expect 0 '' train first opencl-gpu
awk -v a="$(result loss)" -v b="$cpu_loss" 'BEGIN { d = a - b; exit !(d < 1e-3 + 0.02 * b && -d < 1e-3 + 0.02 * b) }' ||
  complain "loss $(result loss) on opencl-gpu, $cpu_loss on cpu.so"
loss=$(result loss)
half() { expect 0 '' "$tenon" train mlp --hidden 16 --data_dir "$work/data" --train_steps 30 --train_batch_size 32 --dtype_policy mixed_float16 --device "$1" --json; }
half cpu
cpu_half=$(result loss)
half opencl-gpu
awk -v a="$(result loss)" -v b="$cpu_half" 'BEGIN { d = a - b; exit !(d < 1e-3 + 0.02 * b && -d < 1e-3 + 0.02 * b) }' ||
  complain "mixed_float16: loss $(result loss) on opencl-gpu, $cpu_half on cpu.so"
same_loss() {
  [ "$(result loss)" = "$loss" ] || complain "$1: loss $(result loss), expected the first run's $loss"
}
expect 0 '' train again opencl-gpu
same_loss 'the same seed'

# A workspace of 8 MB in buffers that hold its largest value, 3,211,264 bytes, and little more: the same bits.
parted() {  # MODEL_DIR [VARIABLE=VALUE]
  env TENON_OPENCL_SHAPE=gpu "${@:2}" "$tenon" train fashion --synthetic --height 28 --width 28 --channels 1 \
    --num_classes 10 --noevaluate --json --model_dir "$work/$1" --device opencl-gpu --train_batch_size 32 --train_steps 3
}
if "$tenon" devices | grep -q PoCL; then
  expect 0 '' parted whole
  whole=$(result hash)
  expect 0 '' parted parted TENON_OPENCL_MAX_ALLOC=3300000
  [ "$(result hash)" = "$whole" ] || complain "a workspace in parts: hash $(result hash), expected $whole"
  expect 1 "largest buffer, 3000000" parted refused TENON_OPENCL_MAX_ALLOC=3000000
fi

# A step for which there is no memory is refused by name and bytes, and training goes on from the checkpoint without it.
if "$tenon" devices | grep -q PoCL; then
  more() {  # BATCH STEPS
    "$tenon" train fashion --synthetic --height 28 --width 28 --channels 1 --num_classes 10 --noevaluate --json \
      --model_dir "$work/room" --device opencl-gpu --train_batch_size "$1" --train_steps "$2"
  }
  too_large() { POCL_MEMORY_LIMIT=1 more 2900 8; }  # GiB
  expect 0 '' more 32 5
  expect 1 "conv2d/conv_bias_act': a value of 291020800 bytes is more than this device's largest buffer" too_large
  [ -e "$work/room/model.ckpt-5.index" ] || complain "the checkpoint is gone: $(ls "$work/room")"
  expect 0 '' more 32 8
  [ "$(result global_step)" = 8 ] || complain "after a refused step: global_step $(result global_step), expected 8"
fi

# Programs and choices of kernels in the host's cache: made by two at once, then loaded, then torn. Batches of 1024 make products
# that are worth a measurement. PoCL's own cache stays, so that a program is a second's work only once.
export POCL_CACHE_DIR=$work/pocl
mkdir "$POCL_CACHE_DIR"
start() {  # MODEL_DIR [FLAGS]: its lines, and its programs and choices, in $work/$1.out
  local model=$1
  shift
  "$tenon" train fashion --synthetic --height 28 --width 28 --channels 1 --num_classes 10 --train_batch_size 1024 \
    --train_steps 3 --noevaluate --model_dir "$work/$model" --device opencl-gpu --verbose "$@" >"$work/$model.out" 2>&1
}
count() {  # MODEL_DIR WORDS: the sum of the numbers in front of these words
  sed -n "s/^opencl-gpu:.*[^0-9]\([0-9][0-9]*\) $2.*/\1/p" "$work/$1.out" | awk '{ n += $1 } END { print n + 0 }'
}
is() {  # MODEL_DIR WORDS EXPECTED
  [ "$(count "$1" "$2")" = "$3" ] || complain "$1: $(count "$1" "$2") $2, expected $3: $(cat "$work/$1.out")"
}
some() {  # MODEL_DIR WORDS
  [ "$(count "$1" "$2")" -gt 0 ] || complain "$1: no $2: $(cat "$work/$1.out")"
}
hash_of() { sed -n 's/.*; hash //p' "$work/$1.out"; }
same_hash() {
  [ -n "$(hash_of "$1")" ] || complain "$1: no hash: $(cat "$work/$1.out")"
  [ "$(hash_of "$1")" = "$(hash_of rule)" ] || complain "$1: hash $(hash_of "$1"), expected the rule's $(hash_of rule)"
}
finished() {  # MODEL_DIR [FLAGS]
  start "$@" || complain "$*: $(cat "$work/$1.out")"
  same_hash "$1"
}

start rule --deterministic || complain "by the rule: $(cat "$work/rule.out")"
is rule measured 0
export TENON_OPENCL_KEEP_PROGRAMS=1 XDG_CACHE_HOME=$work/cache
mkdir "$XDG_CACHE_HOME"
start beside &
finished tuned
wait $! || complain "a second process with the same empty cache: $(cat "$work/beside.out")"
same_hash beside
some tuned 'programs built'
some tuned measured
compiled() { find "$POCL_CACHE_DIR" "$XDG_CACHE_HOME" -name '*.so' | sort; }
before=$(compiled)
for again in second third; do
  finished $again
  is $again 'programs built' 0
  is $again measured 0
  some $again 'from the cache'
  some $again remembered
done
[ -n "$before" ] && [ "$(compiled)" = "$before" ] || complain "a second start compiled: $(diff <(echo "$before") <(compiled))"
finished unused --deterministic
is unused measured 0
is unused remembered 0

kept=$(find "$XDG_CACHE_HOME/tenon" -type f | wc -l)
[ "$kept" -gt 0 ] || complain "nothing was kept in $XDG_CACHE_HOME/tenon"
find "$XDG_CACHE_HOME/tenon" -type f | while read -r file; do
  truncate -s $(($(stat -c %s "$file") / 2)) "$file"
done
finished torn
some torn 'programs built'
some torn measured
is torn remembered 0

# No cache: a choice that cannot be kept is not made.
touch "$work/file"
XDG_CACHE_HOME=$work/file finished homeless
is homeless remembered 0

# Every way to compute a node gives the same bits.
for way in 1 2 3; do TENON_OPENCL_VARIANT=$way finished "way$way"; done
finish
