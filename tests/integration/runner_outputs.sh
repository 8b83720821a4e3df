#!/bin/bash
# What the runner writes, where it cannot be written: standard output closed, full or a pipe that ends; files that are
# pipes, devices, links, or of somebody else; signals. Nothing that was trained is lost, and no file gets what was printed.
#   runner_outputs.sh TENON NO_HANDLERS.so, both as absolute paths; the library is for the negative control
. "$(dirname "$0")/runner_lib.sh"
no_handlers=${2:-}
data=$work/data
make_idx "$work/idx" 64 32
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$data"
train=("$tenon" train mlp --hidden 16 --train_batch_size 16 --data_dir "$data" --device cpu --noevaluate)
long=("${train[@]}" --train_steps 200 --log_step_count_steps 1)
model=$work/model
expect 0 '' "${train[@]}" --train_steps 4 --model_dir "$model"
predict=("$tenon" predict mlp --hidden 16 --data_dir "$data" --model_dir "$model" --device cpu)
"${predict[@]}" --output "$work/expected.csv" >/dev/null || complain 'predict fails'

trained() {  # MODEL_DIR STEP
  local step
  step=$("$tenon" inspect checkpoint "$1" --values global_step 2>&1)
  [ "$step" = "$2" ] || complain "$1: expected step $2, found $step"
}
# code EXPECTED FOUND PATTERN: an exit code, and the last line of $work/err.
code() {
  [ "$2" -eq "$1" ] || complain "exit code $2, expected $1: $(cat "$work/err")"
  [ -z "$3" ] || tail -n 1 "$work/err" | grep -qF -e "$3" || complain "expected '$3' in: $(cat "$work/err")"
}

echo '# a log that cannot be written'
"${long[@]}" --model_dir "$work/head" 2>"$work/err" | head -n 2 >"$work/out"
code 1 "${PIPESTATUS[0]}" 'all is done, but not all of the log could be written: Broken pipe'
trained "$work/head" 200
"${long[@]}" --model_dir "$work/full" >/dev/full 2>"$work/err"
code 1 $? 'No space left on device'
trained "$work/full" 200
"${long[@]}" --model_dir "$work/none" >&- 2>&- <&-
code 1 $? ''
trained "$work/none" 200
"${long[@]}" --model_dir "$work/lines" --log estimator 2>&1 >/dev/null | head -n 1 >"$work/out"
code 1 "${PIPESTATUS[0]}" ''
trained "$work/lines" 200
grep -rqs 'step' "$work/none" --include=.lock --include=checkpoint.txt && complain 'a file has lines of the log'
"$tenon" inspect graph fashion 2>"$work/err" | true
found=${PIPESTATUS[0]}  # 0 where the pipe was open for long enough
[ "$found" -eq 0 ] || code 1 "$found" 'cannot write to standard output: Broken pipe'
for product in "inspect graph mlp" "inspect ops" "devices" "devices --json" "inspect ops --json" "--help" "--version" "train --help" "bench --help"; do
  # shellcheck disable=SC2086
  "$tenon" $product >/dev/full 2>"$work/err"
  code 1 $? 'cannot write to standard output: No space left on device'
  # shellcheck disable=SC2086
  "$tenon" $product >&- 2>"$work/err"
  code 1 $? 'cannot write to standard output: Bad file descriptor'
done
"${predict[@]}" 2>"$work/err" >/dev/full
code 1 $? 'cannot write to standard output: No space left on device'
"$tenon" inspect nothing 2>/dev/full >/dev/null
code 2 $? ''

echo '# standard files that are closed'
"${predict[@]}" --output "$work/closed.csv" >&- 2>&- <&-
cmp -s "$work/closed.csv" "$work/expected.csv" || complain "predictions with closed files: $(head -c 300 "$work/closed.csv" 2>&1)"
"$tenon" convert idx --input "$work/idx" --output "$work/quiet" >&- 2>&- <&-
diff -r "$data" "$work/quiet" >/dev/null || complain 'records with closed files are others'

echo '# where predictions go'
mkfifo "$work/pipe"
cat "$work/pipe" >"$work/piped.csv" &
expect 0 '' "${predict[@]}" --output "$work/pipe"
wait $!
[ -p "$work/pipe" ] || complain 'the pipe has been replaced'
cmp -s "$work/piped.csv" "$work/expected.csv" || complain 'a pipe got other predictions'
expect 1 "cannot write '/dev/full': No space left on device" "${predict[@]}" --output /dev/full
[ -c /dev/full ] || complain '/dev/full has been replaced'
"${predict[@]}" --output /dev/stdout 2>/dev/null | grep '^[0-9]*,' | cmp -s - <(grep '^[0-9]*,' "$work/expected.csv") ||
  complain '/dev/stdout got other predictions'
mkdir "$work/elsewhere"
echo old >"$work/elsewhere/p.csv"
chmod 640 "$work/elsewhere/p.csv"
ln -s elsewhere/p.csv "$work/link.csv"
expect 0 '' "${predict[@]}" --output "$work/link.csv"
[ -L "$work/link.csv" ] && cmp -s "$work/elsewhere/p.csv" "$work/expected.csv" || complain 'the link was not followed'
[ "$(stat -c %a "$work/elsewhere/p.csv")" = 640 ] || complain 'the permissions have changed'
echo old >"$work/kept.csv"
expect 1 "$work/none" "$tenon" predict mlp --data_dir "$data" --model_dir "$work/none.such" --output "$work/kept.csv"
before=$(cd "$data" && cat -- * | cksum)
(ulimit -f 2; "$tenon" convert idx --input "$work/idx" --output "$data" --overwrite 2>&1) | cat >"$work/limited"
grep -q "train-00000-of-00001': File too large" "$work/limited" || complain "a file size limit: $(cat "$work/limited")"
[ "$(cd "$data" && cat -- * | cksum)" = "$before" ] || complain 'a file size limit changed the data'
[ "$(cat "$work/kept.csv")" = old ] || complain 'predictions that failed replaced what was there'
[ -z "$(find "$work" -maxdepth 1 -name '.*.tmp-*' -o -maxdepth 1 -name '*.part-*')" ] || complain 'a temporary was left behind'

echo '# a directory that may not be written'
mkdir -m 555 "$work/locked"
chmod 755 "$work"
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if "${user[@]}" test -r "$data/labels.txt" -a -x "$tenon" 2>/dev/null; then
  expect 1 "'$work/locked': Permission denied" "${user[@]}" "${long[@]}" --model_dir "$work/locked"
  ! grep -q '^step' "$work/out" || complain 'it trained before it said so'
  expect 1 "'$work/locked/p.csv': Permission denied" "${user[@]}" "${predict[@]}" --output "$work/locked/p.csv"
  expect 1 "'$work/locked/x': Permission denied" "${user[@]}" "$tenon" convert idx --input "$work/idx" --output "$work/locked/x"
  expect 1 "'$data': Permission denied" "${user[@]}" "$tenon" convert idx --input "$work/idx" --output "$data" --overwrite
fi

echo '# signals'
stop() {  # SIGNALS..: sent to a training in its midst; its exit code
  rm -rf "$work/stopped" "$work/log"
  "${preload[@]}" "${train[@]}" --train_steps 100000000 --log_step_count_steps 1 --model_dir "$work/stopped" >"$work/log" 2>"$work/err" &
  local pid=$! signal
  until grep -qs '^step 5 ' "$work/log" || ! kill -0 $pid 2>/dev/null; do :; done
  for signal in "$@"; do kill -"$signal" $pid; done
  wait $pid
}
preload=(env)
for pair in INT:130 TERM:143 HUP:129; do
  stop "${pair%:*}"
  code "${pair#*:}" $? 'interrupted at step'
  trained "$work/stopped" "$(sed -n 's/.*at step \([0-9]*\).*/\1/p' "$work/err")"
done
stop HUP HUP HUP
code 129 $? 'interrupted at step'
preload=(nohup)

rm -f "$work/log"
"${preload[@]}" "${train[@]}" --train_steps 300 --log_step_count_steps 1 --model_dir "$work/nohup" >"$work/log" 2>"$work/err" &
pid=$!
until grep -qs '^step 5 ' "$work/log" || ! kill -0 $pid 2>/dev/null; do :; done
kill -HUP $pid
wait $pid
code 0 $? ''
trained "$work/nohup" 300
if [ -n "$no_handlers" ]; then
  echo '# control: without handlers'
  preload=(env "LD_PRELOAD=$no_handlers")
  stop TERM
  [ $? -eq 143 ] && [ ! -e "$work/stopped/checkpoint" ] || complain 'without handlers a signal saved: this test shows nothing'
  LD_PRELOAD=$no_handlers "${long[@]}" --model_dir "$work/piped" 2>"$work/err" | head -n 2 >"$work/out"
  [ "${PIPESTATUS[0]}" -eq 141 ] || complain 'without handlers a closed pipe did not end the training: this test shows nothing'
fi
finish
