#!/bin/bash
# kill -9 at random moments of a training that saves often. Every checkpoint that can be seen must load, every restart must
# go on from the last one that was acknowledged, and training that was killed must end with the bits of training that was
# not.
#   kill_test.sh TENON [KILLS [STEPS [SEED]]]        more, and a control: make check-trust ROWS=1
# Training that ends before its kill is compared, and a new one begins until there were enough kills. From the environment:
# KILL_SAVES, the steps between saves (5); KILL_IN_SAVE, how many kills have to be inside one; KILL_SECONDS, after which no
# kill follows; KILL_WHOLE, a program that is called as `KILL_WHOLE whole MODEL_DIR` and fails where a checkpoint does not
# load; KILL_PRELOAD, what the killed ones load; KILL_FLAGS, more flags of theirs.
kills=${2:-50} steps=${3:-400} RANDOM=${4:-1} saves=${KILL_SAVES:-5}
. "$(dirname "$0")/runner_lib.sh"

make_idx "$work/idx" 600 40
"$tenon" convert idx --input "$work/idx" --output "$work/data" >/dev/null || exit 1
# A small model: most of its time is saves. Dropout and the order of examples are state too.
train() {  # MODEL_DIR [FLAG..]
  exec "$tenon" train mlp --hidden 16 --dropout 0.2 --data_dir "$work/data" --model_dir "$1" --train_steps "$steps" --train_batch_size 32 \
    --save_checkpoints_steps "$saves" --seed 3 --device cpu --noevaluate --json "${@:2}"
}
field() { sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",}]*\).*/\1/p' "$2" | tail -n 1; }
acknowledged() { sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\).*/\1/p' "$1/checkpoint" 2>/dev/null; }
now() { date +%s%N; }

whole_begun=$(now)
(train "$work/whole") >"$work/out" || exit 1
whole=$(($(now) - whole_begun))
expected=$(field hash "$work/out")
[ -n "$expected" ] || { echo "no hash in: $(tail -n 1 "$work/out")"; exit 1; }

killed=0 in_save=0 finished=0 resumed=0
mkfifo "$work/pipe"
# One training run in $work/model, killed $2 s after its save number $1 unless it ends before (empty: never killed).
run_once() {
  local before=$(acknowledged "$work/model") pid code start seen=0 line
  : >"$work/out"  # before a kill can come
  (LD_PRELOAD=${KILL_PRELOAD:-} train "$work/model" ${KILL_FLAGS:-}) >"$work/pipe" 2>"$work/err" &
  pid=$!
  exec 8<"$work/pipe"
  while [ -n "$1" ] && [ "$seen" -lt "$1" ] && read -r -u 8 line; do
    echo "$line" >>"$work/out"
    case $line in *'"checkpoint"'*) seen=$((seen + 1)) ;; esac
  done
  if [ -n "$1" ]; then
    sleep "$2"
    kill -9 "$pid" 2>/dev/null
  fi
  cat <&8 >>"$work/out"
  exec 8<&-
  wait "$pid" 2>/dev/null
  code=$?
  start=$(grep '"start"' "$work/out" | sed -n 's/.*"step": *\([0-9]*\).*/\1/p')
  [ "${start:-0}" -eq 0 ] || resumed=$((resumed + 1))
  if [ -n "$start" ] && [ "$start" -lt "${before:-0}" ]; then complain "started at step $start, saved was ${before:-0}"; fi
  if [ "$code" -eq 137 ]; then
    killed=$((killed + 1))
    compgen -G "$work/model/.*.tmp-*" >/dev/null && in_save=$((in_save + 1))
    [ -z "${KILL_WHOLE:-}" ] || [ ! -e "$work/model" ] || "$KILL_WHOLE" whole "$work/model" >"$work/torn" ||
      complain "after kill $killed: $(cat "$work/torn")"
    return
  fi
  [ "$code" -eq 0 ] || { complain "exit code $code: $(cat "$work/err")"; return 1; }
  finished=$((finished + 1))
  [ "$(field hash "$work/out")" = "$expected" ] || complain "hash $(field hash "$work/out"), expected $expected"
  [ "$(field global_step "$work/out")" = "$steps" ] || complain "global_step $(field global_step "$work/out"), expected $steps"
  rm -rf "$work/model"
}

begun=$SECONDS
enough() { [ "$killed" -ge "$kills" ] && [ "$in_save" -ge "${KILL_IN_SAVE:-0}" ]; }
while ! enough && [ "$failures" -eq 0 ] && [ $((SECONDS - begun)) -lt "${KILL_SECONDS:-100000}" ]; do
  run_once $((RANDOM % 6)) "$(awk -v save="$((whole * saves / steps))" -v r="$RANDOM" 'BEGIN { printf "%.4f", 2 * save / 1e9 * r / 32768 }')"
done
[ "$failures" -gt 0 ] || [ ! -e "$work/model" ] || run_once ""
echo "$killed kills, $in_save of them inside a save; $resumed restarts from a checkpoint; hash $expected as without kills, in all $finished trainings of $steps steps"
finish
