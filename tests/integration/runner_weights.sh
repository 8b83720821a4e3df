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
for to in b.weights.h5 d.weights.h5 c a.safetensors; do
  expect 0 '' "$tenon" convert weights "$from" "$work/$to"
  expect 0 '' "$tenon" inspect weights "$work/$to" --values wide/depthwise_kernel
  cmp -s "$work/out" "$work/values" || complain "$to: other values"
  from=$work/$to
done
expect 0 '' "$tenon" inspect weights "$work/c" --json
grep -q '"parameters": 128' "$work/out" || complain "--json: $(cat "$work/out")"
expect 1 "Keras would not find layer 'first', which it looks for by class and number" "$tenon" convert weights "$work/a.safetensors" "$work/e.weights.h5"
[ -e "$work/e.weights.h5" ] && complain 'a file that Keras does not load was written'

# What is not read is named; formats by content; a model in several files.
expect 0 '' "$tenon" inspect weights "$files/unread.safetensors"
grep -q "^not read: 'i16', I16\[2\]$" "$work/out" || complain "inspect said $(cat "$work/out")"
expect 1 "unread_alone.safetensors': none of its tensors is of numbers that Tenon has" "$tenon" inspect weights "$files/unread_alone.safetensors"
expect 1 "2 tensors are of a type that Tenon does not read, the first 'f8' F8_E4M3[4]" "$tenon" convert weights "$files/unread.safetensors" "$work/f.safetensors"
cp "$files/state.pt" "$work/pytorch_model.bin"
expect 0 '' "$tenon" inspect weights "$work/pytorch_model.bin"
grep -q '^fc.weight ' "$work/out" || complain "a .bin: $(cat "$work/out")"
expect 0 '' "$tenon" inspect weights "$files/model.safetensors.index.json"
grep -q 'index.json: 3 tensors, 10 parameters, 40 B$' "$work/out" || complain "an index: $(cat "$work/out")"
expect 2 'is an ONNX file: `tenon inspect onnx` shows it' "$tenon" inspect weights "$work/x.onnx"

# Of a training: weights alone, where Keras finds them; evaluation and prediction with them.
tiny=(--synthetic --height 32 --width 32 --num_classes 3 --device cpu)
small=("${tiny[@]}" --num_eval_images 4)
expect 0 '' "$tenon" train mobilenet_v3_small "${tiny[@]}" --train_batch_size 4 --train_steps 1 --noevaluate --model_dir "$work/small" --quiet --json
expect 0 '' "$tenon" convert weights "$work/small" "$work/small.safetensors"
grep -q '^210 tensors, ' "$work/out" || complain "convert said $(cat "$work/out")"
expect 0 '' "$tenon" convert weights "$work/small" "$work/all.safetensors" --all
grep -q '^210 tensors, ' "$work/out" && complain "convert --all said $(cat "$work/out")"
expect 0 '' "$tenon" convert weights "$work/small" "$work/small.weights.h5"
expect 2 'a .weights.h5 takes weights alone' "$tenon" convert weights "$work/small" "$work/all.weights.h5" --all
expect 1 "Keras would not find layer 'conv'" "$tenon" convert weights "$work/small.safetensors" "$work/none.weights.h5"
expect 0 '' "$tenon" evaluate --model_dir "$work/small" "${small[@]}" --json
grep -o '"loss": [^,]*' "$work/out" | tail -1 >"$work/loss"
for weights in --weights --checkpoint; do
  for file in small.safetensors small.weights.h5; do
    expect 0 '' "$tenon" evaluate mobilenet_v3_small $weights "$work/$file" "${small[@]}" --json
    grep -o '"loss": [^,]*' "$work/out" | tail -1 | cmp -s - "$work/loss" || complain "$weights $file: $(cat "$work/out")"
    expect 0 '' "$tenon" predict mobilenet_v3_small $weights "$work/$file" "${small[@]}" --json
  done
done
expect 1 "its 'logits/bias' for variable 'logits/bias' is [3], here [5]" \
  "$tenon" predict mobilenet_v3_small --weights "$work/small.safetensors" "${small[@]}" --json --num_classes 5
expect 1 "no variable begins with a value of '$work/small.safetensors'" "$tenon" predict mobilenet_v2 --weights "$work/small.safetensors" "${small[@]}" --json
expect 2 '--rules needs --weights FILE' "$tenon" predict mobilenet_v3_small --rules x "${small[@]}" --json
expect 2 '--weights and --checkpoint exclude each other' "$tenon" evaluate mobilenet_v3_small --weights a --checkpoint b "${small[@]}"

# Rules: a training begins with PyTorch's names and axes, and says what it took.
printf 'fc\\.weight -> dense/kernel linear\nfc\\.bias -> dense/bias\n.* -> drop\n' >"$work/rules"
expect 0 '' "$tenon" inspect weights "$files/state.pt" --rules "$work/rules"
grep -q '^fc.weight' "$work/out" && complain "a rule was passed over: $(cat "$work/out")"
printf 'fc\\.weight -> dense_1/kernel linear\n' >"$work/rules"
train=("$tenon" train mlp --synthetic --train_steps 1 --noevaluate --warm_start "$files/state.pt" --rules "$work/rules" --skip_mismatch)
expect 1 'no variable begins with a value of' "${train[@]}"
expect 1 "which has PyTorch's names: --rules gives them others, as share/rules has them" "$tenon" train mlp --synthetic --train_steps 1 --noevaluate --weights "$files/state.pt"
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
