#!/bin/bash
# The runner on devices of several units: batches that divide and that do not, what is evaluated, the two logs.
#   runner_units.sh TENON
. "$(dirname "$0")/runner_lib.sh"
make_idx "$work/idx" 128 90
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json
units=(--data_dir "$work/data" --device cpu:units=8)

expect 1 'train batch size 100 must be divisible by number of replicas 8' \
  "$tenon" train fashion "${units[@]}" --train_batch_size 100 --train_steps 1
expect 1 "TPUConfig.num_shards is 4, device 'cpu:units=8' has 8 cores" \
  "$tenon" train fashion "${units[@]}" --train_batch_size 16 --train_steps 1 --num_shards 4

# 90 examples: all on eight units as on one; a row of predictions for each.
expect 0 '' "$tenon" train fashion "${units[@]}" --model_dir "$work/model" --train_batch_size 16 --train_steps 4 --json
grep -q '"event": "evaluation", .*"examples": 90,' "$work/out" || complain "evaluated in training: $(cat "$work/out")"
expect 0 '' "$tenon" evaluate fashion "${units[@]}" --model_dir "$work/model" --json
[ "$(result examples)" = 90 ] || complain "examples $(result examples), expected 90"
loss=$(result loss)
expect 0 '' "$tenon" evaluate fashion --data_dir "$work/data" --device cpu --model_dir "$work/model" --json
[ "$(result examples)" = 90 ] || complain "examples $(result examples), expected 90"
awk -v a="$loss" -v b="$(result loss)" 'BEGIN { exit !((a - b) ^ 2 < 1e-10) }' || complain "loss $loss on eight, $(result loss) on one"
expect 0 '' "$tenon" evaluate fashion "${units[@]}" --model_dir "$work/model" --num_eval_images 33
grep -q '^examples 33$' "$work/out" || complain "evaluated $(cat "$work/out"), expected 33 examples"
# A batch that is asked for is rounded down to a multiple of the units, at least one example for each.
# rounded BATCH TAKEN EXAMPLES LEFT COMMAND FLAGS..: what is told of it, and of what was left out.
rounded() {
  local batch=$1 taken=$2 examples=$3 left=$4
  local command=("$tenon" "$5" fashion "${units[@]}" --model_dir "$work/model" --eval_batch_size "$batch" "${@:6}")
  expect 0 '' "${command[@]}"
  grep -q "^--eval_batch_size $batch becomes $taken: a multiple of the 8 units of cpu:units=8\$" "$work/out" &&
    [ "$(grep -o -m 1 "^left out $left" "$work/out")" = "${left:+left out $left}" ] || complain "${command[*]}: $(cat "$work/out")"
  expect 0 '' "${command[@]}" --json
  grep -q "\"examples\": $examples[,}]" "$work/out" ||
    complain "${command[*]}: expected $examples examples: $(cat "$work/out")"
}
rounded 90 88 90 '' evaluate
rounded 90 88 88 '2 examples: the 8 units' evaluate --eval_drop_remainder
rounded 42 40 42 '' evaluate --num_eval_images 42
rounded 42 40 40 '2 examples: the 8 units' evaluate --num_eval_images 42 --eval_drop_remainder
rounded 3 8 90 '' evaluate
rounded 12 8 90 '' train --model_dir "$work/two" --train_batch_size 16 --train_steps 2
rounded 42 40 40 '2 examples' train --num_eval_images 42 --eval_drop_remainder --model_dir "$work/two" --train_batch_size 16 --train_steps 2
# Fewer examples than units.
expect 0 '' "$tenon" evaluate fashion "${units[@]}" --model_dir "$work/model" --num_eval_images 5 --json
[ "$(result examples)" = 5 ] || complain "examples $(result examples), expected 5"
expect 2 "--eval_drop_remainder leaves out all of the 5 examples to evaluate: 'cpu:units=8' has 8 units" \
  "$tenon" evaluate fashion "${units[@]}" --model_dir "$work/model" --num_eval_images 5 --eval_drop_remainder
expect 0 '' "$tenon" predict fashion "${units[@]}" --model_dir "$work/model" --num_eval_images 5 \
  --output "$work/rows.csv" --json
[ "$(result rows)" = 5 ] || complain "rows $(result rows), expected 5"
"$tenon" predict fashion "${units[@]}" --model_dir "$work/model" --eval_batch_size 12 >"$work/out" 2>"$work/err"
[ "$(wc -l <"$work/out")" = 91 ] || complain "predict in batches of 12: $(wc -l <"$work/out") lines, expected 91"
grep -q '^--eval_batch_size 12 becomes 8' "$work/err" || complain "predict in batches of 12 said $(cat "$work/err")"
expect 0 '' "$tenon" predict fashion "${units[@]}" --model_dir "$work/model" --output "$work/rows.csv" --json
[ "$(result rows)" = 90 ] || complain "rows $(result rows), expected 90"

# The Estimator's lines are on standard error, whatever is on standard output.
"$tenon" train fashion "${units[@]}" --model_dir "$work/model" --train_batch_size 16 --train_steps 6 --json \
  --log estimator > "$work/out" 2> "$work/err" || complain "--log estimator: $(cat "$work/err")"
grep -qv '^{.*}$' "$work/out" && complain "no JSON: $(cat "$work/out")"
for line in 'Calling model_fn.' 'Restoring parameters from .*/model.ckpt-4' 'loss = [0-9.]*, step = 5' \
  'Loss for final step: [0-9.]*.' 'Saving dict for global step 6: accuracy = [0-9.]*, global_step = 6, loss = [0-9.]*'; do
  grep -q "^$line\$" "$work/err" || complain "no line '$line' in: $(cat "$work/err")"
done

# Nobody has a TPU: the line says what was looked for, found and taken; an emulated one is not.
expect 0 '' "$tenon" train fashion --data_dir "$work/data" --device tpu --train_batch_size 16 --train_steps 1 --noevaluate
grep -q '^looked for a TPU, a GPU, a CPU; found .*cpu (cpu).*; took [a-z-]*, 1 replica in sync$' "$work/out" ||
  complain "--device tpu: $(cat "$work/out")"
finish
