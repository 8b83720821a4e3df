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
  "$toy" "$device" "$work/model-$device" > "$work/out" 2> "$work/err" || complain "$device: $(cat "$work/err")"
  in_order "$device" <<'LINES'
Using config: {'_model_dir': 
Calling model_fn\.$
Done calling model_fn\.$
Create CheckpointSaverHook\.$
Graph was finalized\.$
Running local_init_op\.$
Done running local_init_op\.$
loss = 0\.0[0-9]*, step = 1$
Calling checkpoint listeners before saving checkpoint 1\.\.\.$
Saving checkpoints for 1 into .*/model\.ckpt\.$
Calling checkpoint listeners after saving checkpoint 1\.\.\.$
Loss for final step: 0\.0[0-9]*\.$
training_loop marked as finished$
Calling model_fn\.$
Done calling model_fn\.$
Starting evaluation at [0-9-]*T[0-9:]*$
Graph was finalized\.$
Restoring parameters from .*/model\.ckpt-1$
Evaluation \[1/1\]$
Inference Time : [0-9.]*s$
Finished evaluation at [0-9-]*-[0-9:]*$
Saving dict for global step 1: global_step = 1, loss = 0\.0[0-9]*$
evaluation_loop marked as finished$
{'loss': 0\.0[0-9]*, 'global_step': 1}$
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
loss = 0\.0[0-9]*, step = 1$
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
Loss for final step: 0\.0[0-9]*\.$
training_loop marked as finished$
Init TPU system$
Evaluation \[1/1\]$
Shutdown TPU system\.$
Inference Time : [0-9.]*s$
Saving dict for global step 1: global_step = 1, loss = 0\.0[0-9]*$
evaluation_loop marked as finished$
LINES
  # From zero weights: loss 0.3^2; gradients -0.6, -0.9 and -0.6 over sqrt(0.1 + g^2), then (0.159224 - 0.3)^2.
  # A TPU rounds the operands of the dot to bf16.
  case $device in tpu*) most=1e-8 ;; *) most=1e-13 ;; esac
  awk -v most="$most" '/^loss = / { before = $3 + 0 } /^\{/ { gsub(/[^0-9. ]/, ""); after = $1 + 0 }
    END { a = before - 0.09; b = after - 0.0198178; exit !(a * a < 1e-14 && b * b < most) }' "$work/out" ||
    complain "$device: losses are not 0.09 and 0.0198178: $(cat "$work/out")"
done
# Without a directory nothing is saved, and training is not forgotten.
"$toy" "$1" > "$work/out" 2>&1 && grep -q "^{'loss': 0\.0198" "$work/out" || complain "without a directory: $(cat "$work/out")"
grep -q "Saving checkpoints" "$work/out" && complain "saved without a directory"
"$toy" cpu:units=3 > "$work/out" 2>&1 && complain "8 examples on 3 units were taken"
grep -q "^toy_estimator: train batch size 8 must be divisible by number of replicas 3$" "$work/out" ||
  complain "on 3 units: $(cat "$work/out")"
exit $((failures > 0))
