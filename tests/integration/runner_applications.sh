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
grep -q "208 variables; .*; 2 begin anew, of another shape in it: 'logits/bias' \[7\], here \[3\], 'logits/kernel' \[1,1,1024,7\], here \[1,1,1024,3\]" "$work/err" || complain "train --weights: $(cat "$work/err")"
expect 0 '' "$tenon" evaluate --model_dir "$work/three" --synthetic --num_eval_images 4 --device cpu --json
expect 0 '' "$tenon" bench step mobilenet_v3_small --mode predict --batch_size 1 --steps 1 --rounds 1 --json
grep -q '"batch_size": 1,' "$work/out" && grep -q '"parameters": 2554968' "$work/out" || complain "bench step: $(cat "$work/out")"

echo '# frozen layers keep weights and moments, and have no slots'
frozen='^(conv|expanded_conv)'
values() { "$tenon" inspect checkpoint "$1" --values "$2" --json; }
"$tenon" train "${small[@]}" --num_classes 7 --train_steps 3 --model_dir "$work/frozen" --weights "$work/seven" --freeze "$frozen" \
  >"$work/out" 2>"$work/err" || complain "train --freeze: $(cat "$work/err")"
grep -q ': 210 variables; ' "$work/err" || complain "train --freeze: $(cat "$work/err")"
for variable in conv_bn/moving_mean expanded_conv_2_project_bn/moving_variance conv/kernel expanded_conv_1_expand_bn/gamma; do
  [ "$(values "$work/frozen" "$variable")" = "$(values "$work/seven" "$variable")" ] || complain "--freeze: $variable has moved"
done
[ "$(values "$work/frozen" logits/kernel)" = "$(values "$work/seven" logits/kernel)" ] && complain '--freeze: the head has not learnt'
expect 0 '' "$tenon" inspect checkpoint "$work/frozen" --json
grep -q '"logits/kernel/' "$work/out" || complain "no slot: $(cat "$work/out")"
grep -Eq '"(conv|expanded_conv)[^"]*/kernel/' "$work/out" && complain 'what is frozen has a slot'
expect 0 '' "$tenon" evaluate --model_dir "$work/frozen" --synthetic --num_eval_images 4 --device cpu --json
expect 0 '' "$tenon" inspect model resnet50 --freeze '^conv[1-4]_' --json  # as Keras counts
grep -q '"trainable_parameters": 17025000,' "$work/out" || complain "resnet50: $(grep -o '"trainable_parameters": [0-9]*' "$work/out")"
expect 1 "freeze: model 'MobileNetV3Small': 'nothing' is found in no variable's name; variables are 'conv/kernel', " \
  "$tenon" train "${small[@]}" --num_classes 7 --train_steps 3 --model_dir "$work/none" --freeze nothing
[ -e "$work/none" ] && complain '--freeze that finds nothing has made a directory'
expect 1 'is no regular expression' "$tenon" inspect model mobilenet_v2 --freeze '('
expect 2 'unknown flag --freeze' "$tenon" train flowers --synthetic --freeze conv

expect 1 'the height of input_shape is 16, expected 32 or more' "$tenon" inspect model mobilenet_v2 --height 16 --width 16
expect 1 'num_filters is 20, expected a multiple of 16' "$tenon" inspect model amoebanet_d --num_filters 20
expect 2 "no model 'mobilenet_v9'; did you mean 'mobilenet_v2'?" "$tenon" train mobilenet_v9
expect 2 "no case 'mobilenet'" "$tenon" bench fit mobilenet
finish
