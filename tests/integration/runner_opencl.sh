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
expect 1 "TENON_OPENCL_SHAPE: expected cpu or gpu, found 'disk'" env TENON_OPENCL_SHAPE=disk "$tenon" train fashion \
  --data_dir "$work/data" --model_dir "$work/bad" --device opencl-gpu

expect 0 '' train cpu cpu
cpu_loss=$(result loss)
expect 0 '' train first opencl-gpu
awk -v a="$(result loss)" -v b="$cpu_loss" 'BEGIN { d = a - b; exit !(d < 1e-3 + 0.02 * b && -d < 1e-3 + 0.02 * b) }' ||
  complain "loss $(result loss) on opencl-gpu, $cpu_loss on cpu.so"
loss=$(result loss)
same_loss() {
  [ "$(result loss)" = "$loss" ] || complain "$1: loss $(result loss), expected the first run's $loss"
}
expect 0 '' train again opencl-gpu
same_loss 'the same seed'

# Programs in the host's cache: made by two at once, then loaded, then torn.
export TENON_OPENCL_KEEP_PROGRAMS=1 XDG_CACHE_HOME=$work/cache
mkdir "$XDG_CACHE_HOME"
train beside opencl-gpu >"$work/beside.out" 2>&1 &
expect 0 '' train kept opencl-gpu
same_loss 'with an empty cache'
wait $! || complain "a second process with the same empty cache: $(cat "$work/beside.out")"
kept=$(find "$XDG_CACHE_HOME/tenon" -type f | wc -l)
[ "$kept" -gt 0 ] || complain "no program was kept in $XDG_CACHE_HOME/tenon"
find "$XDG_CACHE_HOME/tenon" -type f | while read -r file; do
  truncate -s $(($(stat -c %s "$file") / 2)) "$file"
done
expect 0 '' train torn opencl-gpu
same_loss 'with a torn cache'
finish
