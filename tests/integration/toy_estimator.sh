#!/bin/bash
# The toy problem of TPUEstimator's guide ends where it ends by hand, on any device, and says the Estimator's lines in their
# order.
#   toy_estimator.sh TOY_ESTIMATOR DEVICE..
set -u
toy=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
complain() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

# The lines stand in this order, others between them.
in_order() {
  local at=0 line next
  while IFS= read -r line; do
    next=$(tail -n +$((at + 1)) "$work/out" | grep -n -m1 -e "^$line" | cut -d: -f1)
    [ -n "$next" ] || { complain "$1: no line '$line' after line $at of: $(cat "$work/out")"; return; }
    at=$((at + next))
  done
}

for device in "$@"; do
  "$toy" --device "$device" --model_dir "$work/model-$device" > "$work/out" 2>&1 || complain "$device: $(cat "$work/out")"
  in_order "$device" <<'LINES'
Using config: {'_model_dir': 
Calling model_fn\.$
Done calling model_fn\.$
Create CheckpointSaverHook\.$
Graph was finalized\.$
Running local_init_op\.$
Done running local_init_op\.$
loss = [0-9.e-]*, step = 1$
Calling checkpoint listeners before saving checkpoint 1\.\.\.$
Saving checkpoints for 1 into .*/model\.ckpt\.$
Calling checkpoint listeners after saving checkpoint 1\.\.\.$
Loss for final step: [0-9.e-]*\.$
training_loop marked as finished$
Calling model_fn\.$
Done calling model_fn\.$
Starting evaluation at [0-9-]*T[0-9:]*$
Graph was finalized\.$
Restoring parameters from .*/model\.ckpt-1$
Evaluation \[1/1\]$
Inference Time : [0-9.]*s$
Finished evaluation at [0-9-]*-[0-9:]*$
Saving dict for global step 1: global_step = 1, loss = [0-9.e-]*$
evaluation_loop marked as finished$
loss [0-9.e-]*  global_step 1$
LINES
  case $device in tpu*) in_order "$device" <<'LINES' ;; esac
_TPUContext: eval_on_tpu True$
Querying Tensorflow master (.*) for TPU system metadata\.$
Found TPU system:$
\*\*\* Num TPU Cores: 8$
\*\*\* Num TPU Workers: 1$
\*\*\* Num TPU Cores Per Worker: 8$
\*\*\* Available Device: _DeviceAttributes(/job:worker/replica:0/task:0/device:TPU:0, TPU, 17179869184, [0-9]*)$
\*\*\* Available Device: _DeviceAttributes(/job:worker/replica:0/task:0/device:TPU:7, TPU, 17179869184, [0-9]*)$
\*\*\* Available Device: _DeviceAttributes(/job:worker/replica:0/task:0/device:TPU_SYSTEM:0, TPU_SYSTEM, 17179869184, [0-9]*)$
Calling model_fn\.$
Bypassing TPUEstimator hook$
Done calling model_fn\.$
TPU job name worker$
Graph was finalized\.$
Running local_init_op\.$
Done running local_init_op\.$
Initialized dataset iterators in [0-9]* seconds$
Init TPU system$
Initialized TPU in [0-9]* seconds$
Starting infeed thread controller\.$
Starting outfeed thread controller\.$
Enqueue next (1) batch(es) of data to infeed\.$
Dequeue next (1) batch(es) of data from outfeed\.$
Outfeed finished for iteration (0, 0)$
loss = [0-9.e-]*, step = 1$
Stop infeed thread controller$
Shutting down InfeedController thread\.$
InfeedController received shutdown signal, stopping\.$
Infeed thread finished, shutting down\.$
infeed marked as finished$
Stop output thread controller$
Shutting down OutfeedController thread\.$
OutfeedController received shutdown signal, stopping\.$
Outfeed thread finished, shutting down\.$
outfeed marked as finished$
Shutdown TPU system\.$
Loss for final step: [0-9.e-]*\.$
training_loop marked as finished$
Init TPU system$
Evaluation \[1/1\]$
Shutdown TPU system\.$
Inference Time : [0-9.]*s$
Saving dict for global step 1: global_step = 1, loss = [0-9.e-]*$
evaluation_loop marked as finished$
LINES
  # Off by d, the gradients of the weights and the bias are g = 2 d, 3 d, 2 d; each moves by 0.05 g / sqrt(0.1 + g^2), and
  # what is predicted by once, 1.5 times and once that. A TPU rounds the operands of the dot to bf16.
  case $device in tpu*) most=1e-2 ;; *) most=1e-5 ;; esac
  awk -v most="$most" 'function moves(g) { return 0.05 * g / sqrt(0.1 + g * g) }
    /^loss = / { d = sqrt($3 + 0) } /^loss [0-9]/ { after = $2 + 0 }
    END { left = d - 2 * moves(2 * d) - 1.5 * moves(3 * d); e = (after - left * left) / (d * d)
      exit !(d > 0 && e < most && e > -most) }' "$work/out" ||
    complain "$device: the second loss is not what the first one leads to: $(cat "$work/out")"
done
# Without a directory nothing is saved, and training is not forgotten; with --json there is the result alone.
"$toy" --device "$1" > "$work/out" 2>&1 && grep -q "^loss .*  global_step 1$" "$work/out" || complain "without a directory: $(cat "$work/out")"
grep -q "Saving checkpoints" "$work/out" && complain "saved without a directory"
"$toy" --device "$1" --json > "$work/out" 2>&1 && [ "$(wc -l < "$work/out")" = 1 ] || complain "--json: $(cat "$work/out")"
"$toy" --device cpu:units=3 > "$work/out" 2>&1 && complain "8 examples on 3 units were taken"
grep -q "^toy_estimator: train batch size 8 must be divisible by number of replicas 3$" "$work/out" ||
  complain "on 3 units: $(cat "$work/out")"
exit $((failures > 0))
