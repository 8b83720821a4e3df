#!/bin/bash
# A model on the emulated TPU: where it ends, what is refused, what is logged.
#   runner_tpu.sh TENON
. "$(dirname "$0")/runner_lib.sh"
make_idx "$work/idx" 256 96
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json

expect 0 '' "$tenon" devices --device tpu-emulator:v2-8
for core in 0 1 2 3 4 5 6 7; do
  grep -q "$core  TPU:$core of a v2-8, emulated, accelerator, emulated, 16.0 GiB" "$work/out" ||
    complain "devices: no TPU:$core in: $(cat "$work/out")"
done
[ "$(grep -c 'TPU_SYSTEM:0 of a v2-8, emulated' "$work/out")" -eq 1 ] || complain "devices: TPU_SYSTEM: $(cat "$work/out")"
expect 0 '' "$tenon" devices --device tpu-emulator:v2-32
[ "$(grep -c 'TPU_SYSTEM:0 of a v2-32, emulated, host [0-3]$' "$work/out")" -eq 4 ] || complain "devices: $(cat "$work/out")"
train() {
  "$tenon" train fashion --data_dir "$work/data" --train_batch_size 32 --train_steps 40 "$@"
}

# Eight cores end where one device ends: to the bit where dots are f32, near it where they are a TPU's.
expect 0 '' train --device cpu --json
hash=$(result hash) loss=$(result loss) accuracy=$(result accuracy)
train --device tpu-emulator:v3-8,dots=f32 --json >"$work/out" 2>"$work/err" || complain "$(cat "$work/err")"
awk -v a="$(result loss)" -v b="$loss" 'BEGIN { d = (a - b) / b; exit !(d < 1e-5 && -d < 1e-5) }' ||
  complain "loss $(result loss) on eight cores in f32, $loss on cpu"
train --device tpu-emulator:v3-8 --model_dir "$work/tpu" --json >"$work/out" 2>"$work/err" || complain "$(cat "$work/err")"
awk -v a="$(result loss)" -v b="$loss" 'BEGIN { d = a - b; exit !(d < 2e-3 + 0.05 * b && -d < 2e-3 + 0.05 * b) }' ||
  complain "loss $(result loss) on eight cores, $loss on cpu"
[ "$(result accuracy)" = "$accuracy" ] || complain "accuracy $(result accuracy) on eight cores, $accuracy on cpu"
# Predicted and measured times are told, each as what it is.
grep -q 'step time: .* ms predicted for a TPU v3-8; .* ms measured on this machine, which emulates it' "$work/err" ||
  complain "no step times in: $(cat "$work/err")"
said=$(sed -n 's/.*step time: \([0-9.]*\) ms predicted.*/\1/p' "$work/err" | head -n 1)
awk -v a="$(result predicted_step_ms)" -v b="$said" 'BEGIN { d = a - b; exit !(b > 0 && d < 1e-3 && -d < 1e-3) }' ||
  complain "predicted_step_ms $(result predicted_step_ms), the device said $said"
# Of the system's own lines nothing is told, unless somebody asks.
! grep -q 'TPU system\|infeed' "$work/err" "$work/out" || complain "without --verbose: $(cat "$work/err" "$work/out")"
train --device tpu-emulator:v3-8 --train_steps 2 --noevaluate --verbose >"$work/out" 2>"$work/err" ||
  complain "$(cat "$work/err")"
for line in 'Found TPU system:' 'Init TPU system' 'Initialized TPU in [0-9]* seconds' 'Shutdown TPU system\.'; do
  grep -q "^$line\$" "$work/out" || complain "--verbose: no '$line' in: $(cat "$work/out")"
done
# What was trained there goes on here.
# What is evaluated is what was asked for, but for the last ones that the eight cores cannot share.
# evaluated EXAMPLES LEFT FLAGS..
evaluated() {
  expect 0 '' "$tenon" evaluate fashion --data_dir "$work/data" --model_dir "$work/tpu" --device tpu-emulator:v3-8 "${@:3}"
  grep -q "^examples $1\$" "$work/out" || complain "evaluate ${*:3}: expected $1 examples: $(cat "$work/out")"
  [ "$(sed -n 's/^left out \([0-9]*\) .*/\1/p' "$work/out")" = "$2" ] || complain "evaluate ${*:3}: $(cat "$work/out")"
}
evaluated 88 '' --num_eval_images 88 --eval_batch_size 24
evaluated 88 2 --num_eval_images 90
evaluated 90 '' --num_eval_images 90 --noeval_drop_remainder
expect 0 '' "$tenon" evaluate fashion --data_dir "$work/data" --model_dir "$work/tpu" --device cpu --json

# In bf16, with variables in f32 or bf16, it learns too.
for policy in mixed_bfloat16 bfloat16; do
  train --device tpu-emulator:v3-8 --dtype_policy $policy --json >"$work/out" 2>"$work/err" || complain "$(cat "$work/err")"
  awk -v a="$(result accuracy)" 'BEGIN { exit !(a > 0.9) }' || complain "$policy: accuracy $(result accuracy)"
done

expect 1 "Value for attr 'T' of half is not in the list of allowed values" train --device tpu-emulator:v3-8 --dtype_policy mixed_float16

# A slice of four hosts: one input for all trains as one device does; each host with its part of the data learns too.
slice() {
  train --device tpu-emulator:v2-32,dots=f32 --train_batch_size 64 --json "$@" >"$work/out" 2>"$work/err" ||
    complain "v2-32 $*: $(cat "$work/err")"
}
expect 0 '' train --device cpu --train_batch_size 64 --json
loss=$(result loss)
slice --per_host_input_for_training broadcast
awk -v a="$(result loss)" -v b="$loss" 'BEGIN { d = (a - b) / b; exit !(d < 1e-5 && -d < 1e-5) }' ||
  complain "v2-32, broadcast: loss $(result loss), $loss on cpu"
hashes=
for input in broadcast true per_shard per_host_v2; do
  slice --per_host_input_for_training $input
  awk -v a="$(result accuracy)" 'BEGIN { exit !(a > 0.95) }' || complain "v2-32 $input: accuracy $(result accuracy)"
  hashes="$hashes$(result hash)\n"
done
[ "$(printf "$hashes" | sort -u | wc -l)" -eq 3 ] || complain "v2-32: expected three trainings: $hashes"
[ "$(printf "$hashes" | sed -n 2p)" = "$(printf "$hashes" | sed -n 4p)" ] || complain "v2-32: other rows: $hashes"

# refused LINES COMMAND..: exit code 1, nothing of a system that was begun, and these fixed lines on standard error.
refused() {
  local lines=$1
  shift
  "$@" >"$work/out" 2>"$work/err"
  local found=$?
  [ "$found" -eq 1 ] || complain "$*: exit code $found, expected 1"
  while IFS= read -r line; do
    grep -qF -e "$line" "$work/err" || complain "$*: expected '$line' in: $(cat "$work/err")"
  done <<<"$lines"
  ! grep -q 'Init TPU system' "$work/out" "$work/err" || complain "$*: the system was initialised: $(cat "$work/err")"
}
refused 'train batch size 100 must be divisible by number of replicas 8' \
  "$tenon" train fashion --data_dir "$work/data" --train_batch_size 100 --train_steps 2 --device tpu-emulator:v3-8
refused 'train batch size 100 must be divisible by number of replicas 32' \
  "$tenon" train fashion --data_dir "$work/data" --train_batch_size 100 --train_steps 2 --device tpu-emulator:v2-32
refused "$(printf '%s\n' "unknown TPU 'v9-8'; known: " v2-8 v3-8 v5e-8)" train --device tpu-emulator:v9-8
refused "spec 'dots=f16': expected bf16 or f32" train --device tpu-emulator:v3-8,dots=f16

# A machine of one's own, and one that contradicts itself.
mkdir "$work/machines"
printf '{"like": "v3-8", "name": "small", "core": {"hbm_bytes": 2000000000}}\n' >"$work/machines/small.json"
export TENON_TPU_PATH=$work/machines
"$tenon" preflight resnet --depth 50 --batch 1024 --tpu small >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || complain "preflight on a small TPU: expected exit code 1: $(cat "$work/out" "$work/err")"
for line in 'Compilation failure: Ran out of memory in memory space hbm. Used [0-9.]*G of 1.86G hbm. Exceeded hbm capacity by' \
  '^Total hbm usage >= ' '^    reserved        530.00M$' '^  Largest program allocations in hbm:' '^  1. Size: ' \
  '^     Operator: op_type="' '^     Shape: f32\[128,' '^     Unpadded size: ' \
  '^     Allocation type: '; do
  grep -q "$line" "$work/err" || complain "out of memory: no line '$line' in: $(cat "$work/err")"
done
printf '{"like": "v3-8", "name": "odd", "slice": {"cores": 12, "hosts": 5}}\n' >"$work/machines/odd.json"
refused "$work/machines/odd.json: field 'slice.cores': expected a multiple of slice.hosts, 5, found 12" \
  train --device tpu-emulator:odd
printf '{"like": "v3-8", "name": "more", "memory": 3}\n' >"$work/machines/more.json"
refused "$work/machines/more.json: unknown field 'memory'" train --device tpu-emulator:more
unset TENON_TPU_PATH

# An interrupt ends training between two calls, saves, and shuts the system down.
"$tenon" train fashion --data_dir "$work/data" --train_batch_size 32 --train_steps 100000 --device tpu-emulator:v3-8 \
  --model_dir "$work/stopped" --iterations_per_loop 10 --log estimator --noevaluate >"$work/out" 2>"$work/err" &
until grep -q 'Outfeed finished for iteration (1,' "$work/err"; do
  kill -0 $! 2>/dev/null || break  # however long it takes
  sleep 0.1
done
kill -INT $!
wait $!
grep -q 'Shutdown TPU system\.' "$work/err" || complain "interrupted: $(tail -n 5 "$work/err")"
ls "$work/stopped" | grep -q 'model\.ckpt-.*\.index' || complain "interrupted: nothing was saved: $(ls "$work/stopped")"
finish
