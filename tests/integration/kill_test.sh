#!/bin/bash
# kill -9 at random moments of a training that saves every 5 steps. Every restart must go on from the last checkpoint
# that was acknowledged, and training that was killed must end with the bits of training that was not.
#   kill_test.sh TENON [KILLS [STEPS [SEED]]]        50 kills: make check-kill
# Training that ends before its kill is compared, and a new one begins until there were enough kills.
kills=${2:-50} steps=${3:-400} RANDOM=${4:-1}
. "$(dirname "$0")/runner_lib.sh"

make_idx "$work/idx" 600 40
"$tenon" convert idx --input "$work/idx" --output "$work/data" >/dev/null || exit 1
train() {  # MODEL_DIR
  exec "$tenon" train fashion --data_dir "$work/data" --model_dir "$1" --train_steps "$steps" --train_batch_size 32 \
    --save_checkpoints_steps 5 --seed 3 --device cpu --noevaluate --json
}
field() { sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",}]*\).*/\1/p' "$2" | tail -n 1; }
acknowledged() { sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\).*/\1/p' "$1/checkpoint" 2>/dev/null; }
now() { date +%s%N; }

begun=$(now)
(train "$work/whole") >"$work/out" || exit 1
whole=$(($(now) - begun))
expected=$(field hash "$work/out")
[ -n "$expected" ] || { echo "no hash in: $(tail -n 1 "$work/out")"; exit 1; }

killed=0 in_save=0 finished=0 resumed=0
# One training run in $work/model, killed after $1 s unless it ends before (empty: never killed).
run_once() {
  local before=$(acknowledged "$work/model") pid code start
  : >"$work/out"  # before a kill can come
  (train "$work/model") >"$work/out" 2>"$work/err" &
  pid=$!
  if [ -n "$1" ]; then
    sleep "$1"
    kill -9 "$pid" 2>/dev/null
  fi
  wait "$pid" 2>/dev/null
  code=$?
  start=$(grep '"start"' "$work/out" | sed -n 's/.*"step": *\([0-9]*\).*/\1/p')
  [ "${start:-0}" -eq 0 ] || resumed=$((resumed + 1))
  if [ -n "$start" ] && [ "$start" -lt "${before:-0}" ]; then complain "started at step $start, saved was ${before:-0}"; fi
  if [ "$code" -eq 137 ]; then
    killed=$((killed + 1))
    compgen -G "$work/model/.*.tmp-*" >/dev/null && in_save=$((in_save + 1))
    return
  fi
  [ "$code" -eq 0 ] || { complain "exit code $code: $(cat "$work/err")"; return 1; }
  finished=$((finished + 1))
  [ "$(field hash "$work/out")" = "$expected" ] || complain "hash $(field hash "$work/out"), expected $expected"
  [ "$(field global_step "$work/out")" = "$steps" ] || complain "global_step $(field global_step "$work/out"), expected $steps"
  rm -rf "$work/model"
}

while [ "$killed" -lt "$kills" ] && [ "$failures" -eq 0 ]; do
  run_once "$(awk -v n="$whole" -v r="$((RANDOM * 32768 + RANDOM))" 'BEGIN { printf "%.4f", 0.4 * n / 1e9 * r / 1073741824 }')"
done
[ "$failures" -gt 0 ] || [ ! -e "$work/model" ] || run_once ""
echo "$killed kills, $in_save of them inside a save; $resumed restarts from a checkpoint; hash $expected as without kills, in all $finished trainings of $steps steps"
finish
