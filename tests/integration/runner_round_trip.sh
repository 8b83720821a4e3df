#!/bin/bash
# Convert, train, evaluate, predict, inspect; resuming and the number of threads change no bit.
. "$(dirname "$0")/runner_lib.sh"
data=$work/data
make_idx "$work/idx" 256 70
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$data" --json
[ "$(result classes)" = 4 ] || complain "convert: classes $(result classes), expected 4"
expect 0 '' "$tenon" inspect records "$data"/train-* --json
[ "$(result records)" = 256 ] || complain "inspect records: $(result records), expected 256"

echo '# a model that learns'
# 70 test images in batches of 32: the last batch is a partial one.
mlp=(mlp --hidden 16 --data_dir "$data" --eval_batch_size 32)
how=(--train_batch_size 16 --dropout 0.2 --learning_rate 0.01 --json)
train=("$tenon" train "${mlp[@]}" "${how[@]}")
only_train=("$tenon" train mlp --hidden 16 --data_dir "$data" "${how[@]}" --noevaluate)
expect 0 '' "${train[@]}" --model_dir "$work/whole" --train_steps 60
accuracy=$(result accuracy) loss=$(result loss) hash=$(result hash)
[ "$(result global_step)" = 60 ] || complain "global_step $(result global_step), expected 60"
[ "$(result parameters)" = 1108 ] || complain "parameters $(result parameters), expected 64 * 16 + 16 + 16 * 4 + 4 = 1108"
case $accuracy in 1 | 0.9*) ;; *) complain "accuracy is $accuracy, expected 0.9 or more" ;; esac
grep -q '^{"event": "evaluation"' "$work/out" || complain 'no evaluation among the JSON lines'
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]' <"$work/out" || complain 'the lines are not JSON'
fi

expect 0 '' "$tenon" evaluate "${mlp[@]}" --model_dir "$work/whole" --json
[ "$(result accuracy)" = "$accuracy" ] && [ "$(result loss)" = "$loss" ] || complain "evaluate: $(tail -n 1 "$work/out"), expected $accuracy, $loss"
expect 0 '' "$tenon" evaluate "${mlp[@]}" --model_dir "$work/whole"
grep -q "^accuracy $(printf %.4f "$accuracy")\$" "$work/out" || complain "evaluate prints $(cat "$work/out")"

expect 0 '' "$tenon" predict "${mlp[@]}" --model_dir "$work/whole" --output "$work/p.csv"
[ "$(wc -l <"$work/p.csv")" = 71 ] || complain "predict: $(wc -l <"$work/p.csv") lines, expected a header and 70 rows"
# Image i is of class i % 4: the share of right rows is the accuracy that evaluate found.
share=$(awk -F, 'NR > 1 { n++; right += $2 == (NR - 2) % 4 } END { printf "%.4f", right / n }' "$work/p.csv")
[ "$share" = "$(printf %.4f "$accuracy")" ] || complain "predict is right for $share, evaluate said $accuracy"
awk -F, 'NR > 1 && ($4 + $5 + $6 + $7 < 0.9999 || $4 + $5 + $6 + $7 > 1.0001) { exit 1 }' "$work/p.csv" || complain 'probabilities do not sum to 1'

expect 0 '' "$tenon" predict "${mlp[@]}" --model_dir "$work/whole" --num_eval_images 33 --output "$work/q.csv"
cmp -s <(head -n 34 "$work/p.csv") "$work/q.csv" || complain "predict --num_eval_images 33 wrote $(wc -l <"$work/q.csv") lines, expected the first 34"

echo '# damaged records keep their numbers'
cp -r "$data" "$work/holes"
# Records of one size: the fifth and the fortieth lose a bit of their pixels.
perl -0777 -pi -e '$n = length($_) / 70; for $r (4, 39) { substr($_, int($r * $n) + $n - 20, 1) ^= "\x01" }' "$work/holes"/validation-00000-of-*
holes=(mlp --hidden 16 --data_dir "$work/holes" --model_dir "$work/whole" --eval_batch_size 32 --skip_corrupt)
expect 0 '' "$tenon" predict "${holes[@]}" --output "$work/h.csv"
cmp -s <(grep -vE '^(4|39),' "$work/p.csv") "$work/h.csv" || complain "predict --skip_corrupt: $(diff "$work/p.csv" "$work/h.csv" | head -n 5)"
expect 0 '' "$tenon" evaluate "${holes[@]}" --json
[ "$(result examples)" = 68 ] || complain "evaluate --skip_corrupt measured $(result examples) examples, expected 68"
right=$(awk -F, 'NR > 1 { n++; right += $2 == $1 % 4 } END { printf "%.4f", right / n }' "$work/h.csv")
[ "$(printf %.4f "$(result accuracy)")" = "$right" ] || complain "evaluate --skip_corrupt says $(result accuracy), predict is right for $right"

echo '# the same bits'
for way in '--threads 1' '--threads 2' '--iterations_per_loop 7' '--steps_between_evals 13' '--save_checkpoints_steps 9'; do
  expect 0 '' "${train[@]}" --model_dir "$work/m$RANDOM$RANDOM" --train_steps 60 $way
  [ "$(result hash)" = "$hash" ] || complain "$way: hash $(result hash), expected $hash"
done
expect 0 '' "${only_train[@]}" --model_dir "$work/resumed" --train_steps 23
expect 0 '' "${train[@]}" --model_dir "$work/resumed" --train_steps 60
[ "$(result hash)" = "$hash" ] || complain "resumed: hash $(result hash), expected $hash"
# At step 0 the rate of a warm-up is 0, whatever the schedule: the first step changes nothing.
one=("$tenon" train mlp --hidden 16 --data_dir "$data" --train_batch_size 16 --train_steps 1 --noevaluate --optimizer sgd --json)
expect 0 '' "${one[@]}" --learning_rate 0
still=$(result hash)
for schedule in constant cosine; do
  expect 0 '' "${one[@]}" --learning_rate 1 --learning_rate_schedule $schedule
  [ "$(result hash)" != "$still" ] || complain "$schedule: a step changed nothing"
  expect 0 '' "${one[@]}" --learning_rate 1 --learning_rate_schedule $schedule --warmup_steps 10
  [ "$(result hash)" = "$still" ] || complain "$schedule: --warmup_steps has no effect"
done
expect 0 '' "${train[@]}" --model_dir "$work/other" --train_steps 60 --seed 1
[ "$(result hash)" != "$hash" ] || complain 'another seed gave the same hash'

echo '# stopped by a signal, then resumed; where so many steps take long, a line says how far it is'
"${only_train[@]}" --model_dir "$work/stopped" --train_steps 100000000 --log_step_count_steps 100000000 >"$work/log" 2>"$work/err" &
pid=$!
until grep -qs '"event": "step"' "$work/log" || ! kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid
wait $pid
[ $? -eq 143 ] || complain "stopped: exit code, expected 143"
grep -q 'interrupted at step' "$work/err" || complain "stopped: said $(cat "$work/err")"
[ "$(wc -l <"$work/err")" = 1 ] || complain "stopped: expected one line, found $(cat "$work/err")"
step=$(sed -n 's/.*interrupted at step \([0-9]*\).*/\1/p' "$work/err")
expect 0 '' "$tenon" inspect checkpoint "$work/stopped" --values global_step
[ "$(cat "$work/out")" = "$step" ] || complain "stopped: saved step $(cat "$work/out"), said $step"

echo '# looking inside'
expect 0 '' "$tenon" inspect checkpoint "$work/whole"
for name in dense/kernel dense/kernel/Adam dense_1/bias global_step; do
  grep -q "^$name " "$work/out" || complain "inspect checkpoint does not list $name"
done
[ "$(ls "$work/whole"/model.ckpt-*.index | wc -l)" -le 5 ] || complain 'more than 5 checkpoints were kept'
expect 0 '' "$tenon" inspect graph mlp --mode predict --device cpu
grep -q 'predict/probabilities' "$work/out" || complain 'inspect graph shows no probabilities'
! grep -q "'label'" "$work/out" || complain 'inspect graph shows labels in a prediction'
expect 0 '' "$tenon" inspect graph mlp --mode predict
! grep -q "'label'" "$work/out" || complain 'inspect graph shows labels in a prediction'
expect 2 "no model 'nosuch'" "$tenon" inspect plan nosuch --device cpu
expect 1 "device 'nosuch'" "$tenon" inspect plan mlp --device nosuch
expect 0 '' "$tenon" inspect ops conv
grep -q 'x:F w:F' "$work/out" || complain 'inspect ops shows no signature'

# Counts that Keras gives (for the CIFAR network: trainable ones).
counts() { # KEY COUNT MODEL..
  local key=$1 count=$2
  shift 2
  expect 0 '' "$tenon" inspect model "$@" --json
  local line
  line=$(tail -n 1 "$work/out" | sed 's/"variables".*//')
  [[ $line == *"\"$key\": $count,"* ]] || complain "$*: expected $key $count, found $line"
}
counts parameters 32863585 flowers
counts parameters 32864805 flowers --batch_norm
counts parameters 25636712 resnet --depth 50
counts trainable_parameters 272474 resnet --depth 20
counts trainable_parameters 11689512 resnet --depth 18

echo '# help, devices'
for command in devices train evaluate predict 'inspect graph' preflight bench; do
  expect 0 '' "$tenon" $command --help
  grep -q -- '--device' "$work/out" || complain "$command --help lists no --device"
done
expect 0 '' "$tenon" train flowers --help
for flag in train_batch_size learning_rate train_steps num_train_images num_eval_images train_data_path eval_data_path \
  ksize1 ksize2 nfil1 nfil2 dprob batch_norm use_tpu tpu; do
  grep -q -- "--$flag" "$work/out" || complain "train flowers --help lists no --$flag"
done
expect 0 '' "$tenon" convert idx --help
grep -q '^usage: tenon convert idx --input DIR --output DIR' "$work/out" || complain "convert idx --help: $(head -n 1 "$work/out")"
expect 0 '' "$tenon" convert images --help
grep -q '^usage: tenon convert images --input DIR|--train_csv FILE --labels FILE --output DIR' "$work/out" || complain "convert images --help: $(head -n 1 "$work/out")"
expect 0 '' "$tenon" devices --device cpu
grep -q '^cpu ' "$work/out" || complain 'devices --device cpu lists no cpu'
expect 0 '' "$tenon" devices
grep -q '^cpu ' "$work/out" || complain 'devices lists no cpu'
expect 0 '' "$tenon" bench op dot --shapes 8x8x8,64x64x64 --seconds 0 --json
[ "$(grep -c '"event": "op"' "$work/out")" = 2 ] || complain "bench op: $(cat "$work/out")"
# Every op that the help lists, with sizes of 2 for all of its form, then of 4 for those that must be there.
expect 0 '' "$tenon" bench --help
sed '1,/^Ops/d;/^  /!Q' "$work/out" >"$work/ops"
[ "$(wc -l <"$work/ops")" -ge 40 ] || complain "bench --help lists the ops $(cat "$work/ops")"
while read -r op form; do
  all=$(sed 's/[][]//g; s/[A-Z]\+/2/g' <<<"$form") least=$(sed 's/\[.*//; s/[A-Z]\+/4/g' <<<"$form")
  expect 0 '' "$tenon" bench op "$op" --shapes "$all,$least" --seconds 0 --threads 1 --json
  perl -ne '$n += /"op": "'"$op"'", "shape": "('"$all|$least"')"/ && 4 == grep { $_ > 0 } /": ([\d.e+-]+)/g;
    END { $? = $n != 2 }' "$work/out" || complain "bench op $op: $(cat "$work/out")"
done <"$work/ops"
# An element of y is a sum of 3 * 3 * 4 / GROUPS products: of 128 elements with 2 groups, of 64 with one for each channel.
flops() { # COUNT OP SHAPE
  expect 0 '' "$tenon" bench op "$2" --shapes "$3" --seconds 0 --threads 1 --json
  perl -ne '$found = $1 * $2 * 1e6 if /"ms": ([\d.e-]+), "gflops": ([\d.e-]+)/;
    END { $? = !(defined $found && abs($found / '"$1"' - 1) < 1e-6) }' "$work/out" || complain "$2 $3: expected $1, $(cat "$work/out")"
}
for op in conv conv_grad_input conv_grad_filter; do
  flops 4608 $op 1x4x4x4x3x8x1x2
  flops 1152 $op 1x4x4x4x3x4x1x4
done
flops 192 lstm 2x3x3x1 # 6 steps of 3 * 4 + 1 * 4 products
expect 0 '' "$tenon" bench step mlp_tiny --rounds 1 --steps 100 --json
[ "$(result case)" = mlp_tiny ] && [ -n "$(result min_ms)" ] && [ -n "$(result first_step_s)" ] || complain "bench: $(cat "$work/out")"
# A batch norm of ResNet-20 has the convolution before it in its node: 40,812,544 products of an image, twice, and 200,704
# normalized elements, of 128 images (counted by hand; projections at strides are 1x1).
expect 0 '' "$tenon" bench step resnet20 --device cpu --rounds 1 --steps 1 --profile --json
perl -ne '$found = $1 * $2 * 1e6 if /"op": "batch_norm".*"ms": ([\d.]+).*"gflops": ([\d.]+)/;
  END { $? = !(defined $found && abs($found / 10473701376 - 1) < 1e-6) }' "$work/out" ||
  complain "bench step --profile: $(grep '"batch_norm"' "$work/out")"
finish
