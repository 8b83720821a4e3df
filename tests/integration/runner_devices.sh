#!/bin/bash
# The same model on every backend: `fashion`, trained where the command line says, ends where it ends on cpu.so.
#   runner_devices.sh TENON EXAMPLES [sanitized]     the directory of the example backends
. "$(dirname "$0")/runner_lib.sh"
examples=$2
make_idx "$work/idx" 256 96
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json

export TENON_PLUGIN_PATH=$examples:$work/nowhere
expect 0 '' "$tenon" devices
for line in "^cpu " "^example 1\\.0  $examples/example\\.so" "$work/nowhere  (is not there)"; do
  grep -q "$line" "$work/out" || complain "devices: expected a line '$line' in: $(cat "$work/out")"
done
expect 0 '' "$tenon" devices --json
grep -q '"event": "directory", "path": "'"$work/nowhere"'", "exists": false' "$work/out" || complain "devices --json: $(cat "$work/out")"
# A directory that cannot be listed is no directory without backends. Sanitizers need files of their own.
[ "${3-}" = sanitized ] || expect 1 'there is no device' bash -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec "$1" devices' bash "$tenon"
[ "${3-}" = sanitized ] || grep -q "^refused $examples: cannot be listed: Too many open files" "$work/out" || complain "devices: $(cat "$work/out")"
expect 1 "TENON_CPU_F32: expected bf16x3 or bf16x6, found 'bf16'" env TENON_CPU_F32=bf16 "$tenon" train fashion --data_dir "$work/data" --device cpu --train_steps 1

for device in cpu example; do
  expect 0 '' "$tenon" train fashion --data_dir "$work/data" --model_dir "$work/$device" --device "$device" \
    --train_steps 40 --train_batch_size 32 --json
  accuracy=$(result accuracy) loss=$(result loss)
  [ "$device" = cpu ] && cpu_accuracy=$accuracy cpu_loss=$loss
done
# Sums are added in another order, and 40 steps carry that on.
[ "$accuracy" = "$cpu_accuracy" ] || complain "accuracy $accuracy on the example, $cpu_accuracy on cpu.so"
awk -v a="$loss" -v b="$cpu_loss" 'BEGIN { d = a - b; exit !(d < 1e-3 + 0.02 * b && -d < 1e-3 + 0.02 * b) }' ||
  complain "loss $loss on the example, $cpu_loss on cpu.so"
# A checkpoint of one device goes on on another.
expect 0 '' "$tenon" evaluate fashion --data_dir "$work/data" --model_dir "$work/example" --device cpu --json
[ "$(result accuracy)" = "$accuracy" ] || complain "evaluated on cpu.so: accuracy $(result accuracy), expected $accuracy"
finish
