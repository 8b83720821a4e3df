#!/bin/bash
# The lines of training: mean loss and mean accuracy of the steps since the line before; and Adam's epsilon.
#   runner_progress.sh TENON
. "$(dirname "$0")/runner_lib.sh"
make_idx "$work/idx" 64 32
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json
mlp=(mlp --data_dir "$work/data" --device cpu --seed 3)

# With a learning rate of 0 an epoch of four steps has the loss and the accuracy that evaluation of the same examples has.
still=("${mlp[@]}" --train_batch_size 16 --train_steps 4 --learning_rate 0 --model_dir "$work/still" --log_step_count_steps 4
  --eval_data_path "$work/data/train-*")
expect 0 '' "$tenon" train "${still[@]}" --json
cp "$work/out" "$work/train"
of_step() { sed -n '/"event": "step"/s/.*"'"$1"'": \([-0-9.e]*\).*/\1/p' "$work/train"; }
for name in loss accuracy; do
  awk -v a="$(of_step $name)" -v b="$(result $name)" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-4 && -d < 1e-4) }' ||
    complain "$name: $(cat "$work/train")"
done
"$tenon" train "${mlp[@]}" --train_batch_size 16 --train_steps 4 --noevaluate --log_step_count_steps 2 >"$work/out" 2>&1
[ "$(grep -c '^step [24]  loss [0-9.]*  accuracy [0-9.]*  .* steps/s' "$work/out")" = 2 ] || complain "$(cat "$work/out")"

# What is shown changes nothing of what is trained.
hash_of() { expect 0 '' "$tenon" train "${mlp[@]}" --train_batch_size 16 --train_steps 6 --noevaluate --json "$@"; result hash; }
plain=$(hash_of)
[ -n "$plain" ] && [ "$(hash_of --epsilon 1e-7)" = "$plain" ] || complain "epsilon is not 1e-7 unless it is given"
[ "$(hash_of --epsilon 1e-3)" != "$plain" ] || complain "--epsilon does nothing"
[ "$(hash_of --log_step_count_steps 1)" = "$plain" ] || complain "what is trained depends on the lines that are shown"
expect 2 '--epsilon does nothing with the optimizer sgd' "$tenon" train "${mlp[@]}" --optimizer sgd --epsilon 1e-3
# TensorFlow 1's, by which the reference was trained; Keras's; the Transformer's own.
for default in 'flowers 1e-08' 'mlp 1e-07' 'transformer 1e-09'; do
  "$tenon" train ${default% *} --help >"$work/out"
  grep -A 2 -e '--epsilon' "$work/out" | grep -q -e "${default#* }" || complain "train ${default% *} --help: $(grep -A 2 -e --epsilon "$work/out")"
done
finish
