#!/bin/bash
# Files of weights of other libraries: looked into, turned into others, taken by a training; what is refused.
#   runner_weights.sh TENON FIXTURES
. "$(dirname "$0")/runner_lib.sh"
files=$2/weights
if [ ! -e "$(dirname "$tenon")/../lib/tenon/files/hdf5.so" ]; then
  expect 1 'HDF5 needs lib/tenon/files/hdf5.so, which the package tenon-hdf5 brings' "$tenon" inspect weights "$files/image.h5"
  finish
fi

# Keras's file by way of every format that is written: the same tensors, the same values.
"$tenon" inspect weights "$files/image.keras" >"$work/keras" 2>&1 || complain "inspect: $(cat "$work/keras")"
grep -q '^batch_normalization/moving_mean  *f32\[3\]$' "$work/keras" || complain "no moving mean in $(cat "$work/keras")"
grep -q 'image.keras: 12 tensors, 128 parameters, 512 B$' "$work/keras" || complain "inspect said $(cat "$work/keras")"
expect 0 '' "$tenon" inspect weights "$files/image.keras" --values wide/depthwise_kernel
cp "$work/out" "$work/values"
from=$files/image.keras
for to in a.safetensors b.weights.h5 c d.weights.h5; do
  expect 0 '' "$tenon" convert weights "$from" "$work/$to"
  expect 0 '' "$tenon" inspect weights "$work/$to" --values wide/depthwise_kernel
  cmp -s "$work/out" "$work/values" || complain "$to: other values"
  from=$work/$to
done
expect 0 '' "$tenon" inspect weights "$work/c" --json
grep -q '"parameters": 128' "$work/out" || complain "--json: $(cat "$work/out")"

# Rules: a training begins with PyTorch's names and axes, and says what it took.
printf 'fc\\.weight -> dense/kernel linear\nfc\\.bias -> dense/bias\n.* -> drop\n' >"$work/rules"
expect 0 '' "$tenon" inspect weights "$files/state.pt" --rules "$work/rules"
grep -q '^fc.weight' "$work/out" && complain "a rule was passed over: $(cat "$work/out")"
printf 'fc\\.weight -> dense_1/kernel linear\n' >"$work/rules"
train=("$tenon" train mlp --synthetic --train_steps 1 --noevaluate --warm_start "$files/state.pt" --rules "$work/rules" --skip_mismatch)
expect 1 'no variable begins with a value of' "${train[@]}"
printf 'fc\\.weight => dense/kernel\n' >"$work/rules"
expect 1 "rules': line 1: expected REGEX -> NAME" "${train[@]}"
expect 2 '--rules needs --warm_start_from CHECKPOINT' "$tenon" train mlp --synthetic --rules "$work/rules"

for bad in "$files"/bad/*; do
  case $bad in */nan.h5) continue ;; esac
  expect 1 "tenon inspect: '$bad': " "$tenon" inspect weights "$bad"
done
head -c 20000 "$files/image.weights.h5" >"$work/cut.weights.h5"
expect 1 "cut.weights.h5': " "$tenon" inspect weights "$work/cut.weights.h5"
expect 1 "cannot open '$work/none.h5'" "$tenon" inspect weights "$work/none.h5"
expect 1 "of Keras's files .weights.h5 alone is written" "$tenon" convert weights "$files/image.h5" "$work/a.keras"
expect 2 'weights, a file of them, and the one to write' "$tenon" convert weights "$files/image.h5"
finish
