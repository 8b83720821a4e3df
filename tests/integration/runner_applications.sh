#!/bin/bash
# The models of tenon/applications.h in the runner.  runner_applications.sh TENON
. "$(dirname "$0")/runner_lib.sh"

# parameters EXPECTED ARGUMENTS..: what `inspect model` counts.
parameters() {
  local expected=$1
  shift
  expect 0 '' "$tenon" inspect model "$@" --json
  grep -q "\"parameters\": $expected," "$work/out" || complain "inspect model $*: $(grep -o '"parameters": [0-9]*' "$work/out"), expected $expected"
}
parameters 3538984 mobilenet_v2
parameters 3538984 MobileNetV2
parameters 25636712 resnet50
parameters 86567656 vit_b_16
# As Keras counts alpha = 0.35 for 1,000 classes, and minimalistic = True.
parameters 1691208 mobilenet_v2 --width_multiplier 0.35
parameters 2056848 mobilenet_v3_small --minimalistic

small=(mobilenet_v3_small --synthetic --height 32 --width 32 --train_batch_size 4 --num_eval_images 8 --device cpu --quiet --json)
expect 0 '' "$tenon" train "${small[@]}" --num_classes 7 --train_steps 2 --model_dir "$work/seven"
"$tenon" train "${small[@]}" --num_classes 3 --train_steps 1 --model_dir "$work/three" --weights "$work/seven" --skip_mismatch \
  >"$work/out" 2>"$work/err" || complain "train --weights: $(cat "$work/err")"
grep -q "208 variables; .* of another type in it: 'logits/bias', 'logits/kernel'" "$work/err" || complain "train --weights: $(cat "$work/err")"
expect 0 '' "$tenon" evaluate --model_dir "$work/three" --synthetic --num_eval_images 4 --device cpu --json
expect 0 '' "$tenon" bench step mobilenet_v3_small --mode predict --batch_size 1 --steps 1 --rounds 1 --json
grep -q '"batch_size": 1,' "$work/out" && grep -q '"parameters": 2554968' "$work/out" || complain "bench step: $(cat "$work/out")"

expect 1 'the height of input_shape is 16, expected 32 or more' "$tenon" inspect model mobilenet_v2 --height 16 --width 16
expect 1 'num_filters is 20, expected a multiple of 16' "$tenon" inspect model amoebanet_d --num_filters 20
expect 2 "no model 'mobilenet_v9'; did you mean 'mobilenet_v2'?" "$tenon" train mobilenet_v9
expect 2 "no case 'mobilenet'" "$tenon" bench fit mobilenet
finish
