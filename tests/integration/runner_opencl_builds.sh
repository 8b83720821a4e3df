#!/bin/bash
# Builds of OpenCL programs that fail, since a signal took the compiler's files away, or for good.
#   runner_opencl_builds.sh TENON OPENCL_SHIM.so, both as absolute paths
. "$(dirname "$0")/runner_lib.sh"
shim=$2
"$tenon" devices | grep -A1 '^opencl-gpu ' | grep -q '^  0  ' || {
  echo "no OpenCL device here; install pocl-opencl-icd"
  exit 77
}
train() {  # MODEL_DIR [VARIABLE=VALUE ..]
  env LD_PRELOAD="$shim" "${@:2}" "$tenon" train mlp --hidden 16 --synthetic --train_batch_size 24 --train_steps 20 --noevaluate \
    --device opencl-gpu --model_dir "$work/$1" --json
}
expect 0 '' train whole
whole=$(result hash)
expect 0 '' train once TEST_BUILDS_FAIL=1
[ -n "$whole" ] && [ "$(result hash)" = "$whole" ] || complain "a build that failed once: hash $(result hash), expected $whole"
expect 1 "the device's compiler refuses kernel" train never TEST_BUILDS_FAIL=1000000
[ -z "$(find "$work/never" -name '*.ckpt*')" ] || complain "a step that was never built: $(ls "$work/never")"
for signal in 2 15; do
  expect $((128 + signal)) 'interrupted at step 0' train "signal$signal" TEST_BUILDS_FAIL=1 TEST_BUILD_SIGNAL=$signal
done
finish
