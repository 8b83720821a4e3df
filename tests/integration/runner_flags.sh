#!/bin/bash
# Flags: those that do nothing are errors, help lists what means something, completion offers values; model_dir remembers.
. "$(dirname "$0")/runner_lib.sh"
data=$work/data
make_idx "$work/idx" 64 32
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$data"
train=("$tenon" train mlp --hidden 16 --train_batch_size 16 --train_steps 4 --data_dir "$data" --device cpu)

echo '# flags that do nothing'
expect 2 '--nesterov does nothing with the optimizer adam; it is for momentum' "${train[@]}" --nesterov
expect 2 '--momentum does nothing with the optimizer sgd' "${train[@]}" --optimizer sgd --momentum 0.5
expect 0 '' "${train[@]}" --optimizer momentum --momentum 0.5 --nesterov
expect 2 '--momentum does nothing with the optimizer muon' "${train[@]}" --optimizer muon --momentum 0.5
expect 2 "--num_shards is for a device of several cores; 'cpu' has one" "${train[@]}" --num_shards 8
expect 2 "--per_host_input_for_training is for a device of several cores; 'cpu' has one" "${train[@]}" --per_host_input_for_training broadcast
expect 2 "--all_reduce_dtype is for several units or processes; 'cpu' is one" "${train[@]}" --all_reduce_dtype bf16
expect 2 "--shard_optimizer_state is for several units or processes; 'cpu' is one" "${train[@]}" --shard_optimizer_state
expect 2 '--shard_optimizer_state does nothing with the optimizer sgd, which keeps nothing' \
  "${train[@]}" --device cpu:units=2 --shard_optimizer_state --optimizer sgd
expect 1 'Lamb: shard_optimizer_state is for optimizers that update each element by itself' \
  "${train[@]}" --hidden 64 --device cpu:units=2 --shard_optimizer_state --optimizer lamb
expect 2 "--all_reduce_dtype: expected one of bf16, found 'f16'" "${train[@]}" --device cpu:units=2 --all_reduce_dtype f16
expect 2 '--all_reduce_dtype bf16 does nothing with --dtype_policy bfloat16' \
  "${train[@]}" --device cpu:units=2 --all_reduce_dtype bf16 --dtype_policy bfloat16
expect 2 '--vars_to_warm_start needs --warm_start_from' "${train[@]}" --vars_to_warm_start dense
expect 2 '--height is for images' "$tenon" train mlp --input 8 --output 4 --synthetic --height 9

echo '# help'
lists() { # COMMAND.. -- FLAG..: all of them
  local command=() flag
  while [ "$1" != -- ]; do command+=("$1"); shift; done
  shift
  "$tenon" "${command[@]}" --help >"$work/help"
  for flag; do grep -qE -- "^  --$flag( |$)" "$work/help" || complain "${command[*]} --help lacks --$flag"; done
}
lists_none() { # the same: none of them
  local command=() flag
  while [ "$1" != -- ]; do command+=("$1"); shift; done
  shift
  "$tenon" "${command[@]}" --help >"$work/help"
  for flag; do grep -qE -- "^  --$flag( |$)" "$work/help" && complain "${command[*]} --help lists --$flag"; done
}
lists train fashion -- resize alpha background scale_decode deep_pixels cache cache_file
lists evaluate fashion -- resize alpha background
lists_none evaluate fashion -- cache cache_file
lists_none preflight fashion -- resize cache
lists data -- bench seconds height output
lists train mlp -- train_steps hidden warm_start_from threads seed verbose
lists evaluate mlp -- eval_batch_size model_dir synthetic
lists inspect graph mlp -- train_steps mode device
lists inspect plan mlp -- train_steps mode device batch_size buffers threads verbose
lists inspect model mlp -- dtype_policy height
lists_none evaluate mlp -- train_data_path per_host_input_for_training train_steps
lists_none predict mlp -- train_data_path per_host_input_for_training
lists_none inspect graph mlp -- buffers skip_corrupt log num_shards eval_batch_size seed
lists_none inspect plan mlp -- bounded_batch skip_corrupt seed
lists_none inspect model mlp -- train_steps device model_size learning_rate
lists_none inspect records -- device threads seed
lists_none inspect checkpoint -- device threads seed verbose
lists convert translation -- source target pairs vocab_file max_length train_shards
lists convert images --output idx -- train_csv labels  # a flag's value is no kind of data
lists score -- reference hypothesis metric json
lists_none convert idx -- device verbose
lists_none convert translation -- device verbose shard_bytes labels
lists_none score -- device threads seed verbose
lists_none devices -- threads seed
lists_none preflight mlp -- seed verbose
for command in train evaluate predict preflight inspect; do
  "$tenon" "$command" --help >"$work/help"
  for model in mlp fashion flowers resnet; do
    grep -qE "^  $model " "$work/help" || complain "$command --help does not list $model"
  done
done
"$tenon" train --help >"$work/help"
grep -qE -- "--learning_rate X +of the optimizer \[the model's\]" "$work/help" || complain "train --help: $(grep learning_rate "$work/help")"

echo '# completion'
offers() { # the words that are offered for the last of a command line's
  bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; echo "${COMPREPLY[*]}"' - "$completion" "$tenon" "$@"
}
completion=$(dirname "$0")/../../share/completion/tenon.bash
[ "$(offers tra)" = 'train translate' ] || complain "completion of tra: $(offers tra)"
[ "$(offers train r)" = 'resnet reader resnet50 resnet101 resnet152 resnet50_v2 resnet101_v2 resnet152_v2' ] || complain "completion of train: $(offers train r)"
[ "$(offers bench step resnet50_)" = 'resnet50_infer resnet50_infer32 resnet50_v2' ] || complain "completion of bench step: $(offers bench step resnet50_)"
[ "$(offers bench op layer)" = 'layer_norm layer_norm_grad' ] || complain "completion of bench op: $(offers bench op layer)"
[ "$(offers convert tr)" = 'translation' ] || complain "completion of convert: $(offers convert tr)"
[ "$(offers convert translation --source "$work/da")" = "$data" ] || complain 'completion of --source'
[ "$(offers train mlp --log '')" = 'tenon estimator' ] || complain "completion of --log: $(offers train mlp --log '')"
[ "$(offers train mlp --optimizer adam)" = 'adam adamw adamax' ] || complain "completion of --optimizer: $(offers train mlp --optimizer adam)"
[ "$(offers train mlp --optimizer mu)" = 'muon' ] || complain "completion of --optimizer: $(offers train mlp --optimizer mu)"
[ "$(offers train fashion --resize '')" = 'legacy half_pixel antialias' ] || complain "completion of --resize: $(offers train fashion --resize '')"
[ "$(offers train fashion --cache '')" = 'none memory disk' ] || complain "completion of --cache: $(offers train fashion --cache '')"
[ "$(offers bench input ph)" = 'photos photos_eval photos_verbs' ] || complain "completion of bench input: $(offers bench input ph)"
[ "$(offers data --be)" = '--bench' ] || complain "completion of data: $(offers data --be)"
[ "$(offers train mlp --dtype_policy mixed)" = 'mixed_bfloat16 mixed_float16' ] || complain "completion of --dtype_policy: $(offers train mlp --dtype_policy mixed)"
case " $(offers train mlp --tpu v) " in *' v3-8 '*) ;; *) complain "completion of --tpu: $(offers train mlp --tpu v)" ;; esac
[ "$(offers train mlp --train_steps '')" = '' ] || complain "completion of --train_steps: $(offers train mlp --train_steps '')"
[ "$(offers train mlp --data_dir "$work/da")" = "$data" ] || complain "completion of --data_dir: $(offers train mlp --data_dir "$work/da")"
[ "$(offers evaluate mlp --checkpoint "$work/da")" = "$data" ] || complain 'completion of --checkpoint'
[ "$(offers train mlp --hid)" = '--hidden' ] || complain "completion of a flag: $(offers train mlp --hid)"

echo '# optimizers and policies'
trained_loss() { "${train[@]}" --train_steps 30 --json "$@" | sed -n 's/.*"loss": \([0-9.e+-]*\).*/\1/p' | tail -1; }
plain=$(trained_loss)
for given in '--dtype_policy mixed_float16' '--optimizer muon' '--optimizer muon --dtype_policy mixed_float16 --weight_decay 0.01'; do
  # shellcheck disable=SC2086
  awk -v a="$(trained_loss $given)" 'BEGIN { exit !(a > 0 && a < 2.3) }' || complain "$given: loss $(trained_loss $given)"
done
awk -v a="$(trained_loss --dtype_policy mixed_float16)" -v b="$plain" 'BEGIN { d = (a - b) / b; exit !(d < 0.02 && -d < 0.02) }' ||
  complain "mixed_float16: loss $(trained_loss --dtype_policy mixed_float16), $plain in f32"

echo '# graphs, checkpoints, output'
"$tenon" inspect graph fashion >"$work/graph"
grep -q 'act=relu' "$work/graph" && grep -q 'kind=max' "$work/graph" || complain 'inspect graph does not name its enumerators'
grep -q '=#' "$work/graph" && complain "inspect graph prints $(grep -o '[a-z]*=#[0-9]*' "$work/graph" | head -1)"
model=$work/model
expect 0 '' "${train[@]}" --model_dir "$model" --save_checkpoints_steps 2
expect 0 '' "$tenon" inspect checkpoint "$model"
perl -0777 -pi -e 'substr($_, 5, 1) = chr(ord(substr($_, 5, 1)) ^ 1)' "$model"/model.ckpt-4.data-00000-of-00001
expect 1 "skipped checkpoint $model/model.ckpt-4: " "$tenon" inspect checkpoint "$model"
grep -q "the newest that is whole is $model/model.ckpt-2" "$work/err" || complain "inspect checkpoint: $(cat "$work/err")"
if [ -w /dev/full ]; then
  "$tenon" predict mlp --hidden 16 --data_dir "$data" --model_dir "$model" --device cpu >/dev/full 2>"$work/err"
  [ $? -eq 1 ] || complain 'predict > /dev/full did not fail'
  grep -q 'cannot write to standard output: No space left on device' "$work/err" || complain "predict > /dev/full: $(cat "$work/err")"
fi

echo '# warm start'
rm -rf "$model" && expect 0 '' "${train[@]}" --model_dir "$model"
warm=("${train[@]}" --model_dir "$work/warm" --warm_start_from "$model")
expect 0 '' "${warm[@]}" --optimizer sgd --learning_rate 0 --train_steps 1
grep -q "warm start from $model/model.ckpt-4: 4 variables; 1 of the optimizer begin anew" "$work/out" || complain "warm start said $(cat "$work/out")"
score() { "$tenon" evaluate mlp --hidden 16 --data_dir "$data" --model_dir "$1" --device cpu | grep -E '^(accuracy|loss) '; }
[ "$(score "$model")" = "$(score "$work/warm")" ] || complain 'a warm start changed the weights'
expect 0 '' "${warm[@]}" --train_steps 2  # another optimizer: its slots begin anew
grep -q "model.ckpt-1 lacks what the optimizer keeps: 'dense/" "$work/out" || complain "another optimizer: $(cat "$work/out")"
grep -q 'no warm start from' "$work/out" || complain "a warm start that is left out: $(cat "$work/out")"
rm -rf "$work/warm"
expect 1 "no variable begins with a value of '$model/model.ckpt-4'" "${warm[@]}" --vars_to_warm_start conv
expect 1 "its 'dense/kernel' is f32[64,16], variable 'dense/kernel' is f32[64,17]; skip_mismatch lets it begin anew" "${warm[@]}" --hidden 17
expect 0 '' "${warm[@]}" --hidden 17 --skip_mismatch
grep -q "begin anew, of another shape in it: 'dense/bias' \[16\], here \[17\], 'dense/kernel' \[64,16\], here \[64,17\]" "$work/out" || complain "skip_mismatch: $(cat "$work/out")"
rm -rf "$work/warm"
expect 0 '' "${warm[@]}" --hidden 16,16 --vars_to_warm_start 'dense_2/' --var_name_to_prev_var_name dense_2/=dense_1/
expect 1 "has no names under 'head/'" "${warm[@]}" --model_dir "$work/warm2" --var_name_to_prev_var_name dense/=head/
expect 2 'expected NAME=ITS_NAME_THERE' "${warm[@]}" --var_name_to_prev_var_name dense
expect 2 "--var_name_to_prev_var_name renames 'dense/' twice" "${warm[@]}" --var_name_to_prev_var_name dense/=dense_1/,a=b,dense/=dense_2/
expect 1 "(((.. (20000 bytes)' is too long a regular expression" "${warm[@]}" --model_dir "$work/warm2" --vars_to_warm_start "$(printf '(%.0s' {1..20000})"
finish
