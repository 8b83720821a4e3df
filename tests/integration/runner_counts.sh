#!/bin/bash
# How many examples of photos of 299 pixels are evaluated: as many as are asked for, on one unit and on eight.
#   runner_counts.sh TENON
. "$(dirname "$0")/runner_lib.sh"
make_idx "$work/idx" 64 1100
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json
# The smallest of its kind: what is counted does not depend on it.
flowers=(--data_dir "$work/data" --model_dir "$work/model" --num_classes 10)
expect 0 '' "$tenon" train flowers "${flowers[@]}" --device cpu --train_batch_size 8 --train_steps 1 --noevaluate \
  --ksize1 1 --ksize2 1 --nfil1 1 --nfil2 1
# evaluated EXAMPLES LEFT FLAGS..
evaluated() {
  expect 0 '' "$tenon" evaluate flowers "${flowers[@]}" "${@:3}"
  grep -q "^examples $1\$" "$work/out" || complain "evaluate ${*:3}: expected $1 examples: $(cat "$work/out")"
  [ "$(sed -n 's/^left out \([0-9]*\) .*/\1/p' "$work/out")" = "$2" ] || complain "evaluate ${*:3}: $(cat "$work/out")"
}
evaluated 1000 '' --device cpu --num_eval_images 1000
evaluated 1000 '' --device cpu:units=8 --num_eval_images 1000
evaluated 1026 '' --device cpu --num_eval_images 1026
evaluated 1026 '' --device cpu:units=8 --num_eval_images 1026
evaluated 1024 2 --device cpu:units=8 --num_eval_images 1026 --eval_drop_remainder
evaluated 1100 '' --device cpu:units=8
finish
