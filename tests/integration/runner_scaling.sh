#!/bin/bash
# tenon preflight --cluster: what it says of steps in many processes, and each mistake in the file.
. "$(dirname "$0")/runner_lib.sh"
model=("$tenon" preflight mlp --hidden 2048,2048 --input 2048 --output 2048)
cluster=$work/cluster.json

# described TEXT: what the file has.
described() { printf '%s' "$1" >"$cluster"; }
# of ROW KEY: the number in that row, counted from 0, of the last line of JSON.
of() { tail -n 1 "$work/out" | perl -MJSON::PP -e 'my $r = decode_json(<STDIN>); print $r->{scaling}[$ARGV[0]]{$ARGV[1]}' "$1" "$2"; }
# near FOUND EXPECTED: to a thousandth.
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= 0.999 * b && a <= 1.001 * b) }' || complain "expected $2, found $1: $(cat "$work/out")"; }

echo '# a table'
network='"inside": {"bytes_per_s": 1e10, "latency_s": 2e-6}, "between": {"bytes_per_s": 1.25e8, "latency_s": 5e-5}'
step='"step": {"min_ms": 100, "batch_size": 32, "backward_share": 0.6}'
described "{\"hosts\": 2, \"processes_per_host\": 2, $network, $step, \"input\": {\"examples_per_second\": 1000}}"
expect 0 '' "${model[@]}" --cluster "$cluster"
grep -q 'mlp on 2 hosts, 2 processes each: all of it predicted, from a step of 32 examples that was measured as 100 ms' "$work/out" ||
  complain "no title: $(cat "$work/out")"
[ "$(grep -cE '^ +(1|2|4) +(1|2) +(32|64|128) ' "$work/out")" = 3 ] || complain "expected rows of 1, 2 and 4 processes: $(cat "$work/out")"

echo '# by hand'
described "{\"hosts\": 2, $network, $step}"
expect 0 '' "${model[@]}" --cluster "$cluster" --json
near "$(of 0 predicted_ms)" 100
# 3 layers of 2,048 x 2,048 and their biases, 50.4 MB, half of which go each way, twice, at 125 MB/s.
near "$(of 1 exchange_ms)" "$(perl -e 'print 1000 * 4 * 3 * (2048 * 2048 + 2048) / 125e6')"
near "$(of 1 predicted_ms)" "$(perl -e 'print $ARGV[0] + $ARGV[1] - $ARGV[2]' "$(of 1 compute_ms)" "$(of 1 exchange_ms)" "$(of 1 hidden_ms)")"
awk -v hidden="$(of 1 hidden_ms)" 'BEGIN { exit !(hidden > 0 && hidden < 60) }' || complain "hidden is not within the backward pass: $(cat "$work/out")"
whole=$(of 1 exchange_ms)
expect 0 '' "${model[@]}" --cluster "$cluster" --json --all_reduce_dtype bf16
near "$(of 1 exchange_ms)" "$(perl -e 'print $ARGV[0] / 2' "$whole")"
expect 0 '' "${model[@]}" --cluster "$cluster" --json --optimizer adam --shard_optimizer_state
near "$(of 1 exchange_ms)" "$whole"
expect 0 '' "${model[@]}" --cluster "$cluster" --json --batch 32
[ "$(of 1 batch_size)" = 32 ] || complain "--batch is that of all processes: $(cat "$work/out")"

echo '# what benchmarks printed'
printf '%s\n' '{"event": "op", "name": "dot"}' '{"event": "result", "case": "x", "min_ms": 50, "median_ms": 60, "batch_size": 16, "loss": null}' >"$work/step.json"
printf '%s\n' '{"event": "result", "examples_per_second": 40}' >"$work/input.json"
described "{\"hosts\": 2, $network, \"step\": \"step.json\", \"input\": \"input.json\"}"
expect 0 '' "${model[@]}" --cluster "$cluster" --json
near "$(of 0 predicted_ms)" 400  # 16 examples at 40 a second
near "$(of 0 compute_ms)" 50

echo '# mistakes in the file'
# bad TEXT PATTERN: one line that begins with the file, and no table.
bad() {
  described "$1"
  expect 1 "$cluster$2" "${model[@]}" --cluster "$cluster"
  [ ! -s "$work/out" ] || complain "a bad file has an answer: $(cat "$work/out")"
}
bad '' ':1:1: is damaged: the file is empty'
bad '{"hosts": 2,' ':1:13: is damaged: the file ends in the middle'
bad '[]' ': the file is a list, expected an object'
bad "{\"host\": 2, $step}" ": expected hosts, processes_per_host, units_per_process, shared_memory, inside, between, step, input, found 'host'"
bad "{\"hosts\": 0, $network, $step}" ': hosts is 0, expected a whole number from 1 to 65,536'
bad "{\"hosts\": 99999999999999999999, $network, $step}" ': hosts is 1e+20, expected a whole number'
bad "{\"hosts\": 1.5, $network, $step}" ': hosts is 1.5, expected a whole number'
bad "{\"processes_per_host\": \"2\", $network, $step}" ': processes_per_host is "2", expected a whole number'
bad "{\"hosts\": 2, $step}" ": expected 'between', found none"
bad "{\"processes_per_host\": 2, $step}" ": expected 'inside', found none"
bad "{\"hosts\": 2, \"between\": 1e9, $step}" ': between is 1000000000.0, expected an object'
bad "{\"hosts\": 2, \"between\": {\"bytes_per_s\": 0, \"latency_s\": 0}, $step}" ': between.bytes_per_s is 0, expected a number above 0'
bad "{\"hosts\": 2, \"between\": {\"bytes_per_s\": 1, \"latency_s\": -1}, $step}" ': between.latency_s is -1, expected a number from 0 on'
bad "{\"hosts\": 2, \"between\": {\"bytes_per_s\": 1, \"latency\": 1}, $step}" ": expected bytes_per_s, latency_s in between, found 'latency'"
bad "{\"hosts\": 2, $network}" ": expected 'step', found none"
bad "{$network, \"step\": {\"min_ms\": 100}}" ": expected 'step.batch_size', found none"
bad "{$network, \"step\": {\"min_ms\": 1, \"batch_size\": 2.5}}" ': step.batch_size is 2.5, expected a whole number'
bad "{$network, \"step\": {\"min_ms\": 1, \"batch_size\": 2, \"backward_share\": 1}}" ': step.backward_share is 1, expected a number above 0 and below 1'
bad "{$network, \"step\": {\"min_ms\": 1, \"batch_size\": 2, \"flops_per_byte\": 0}}" ': step.flops_per_byte is 0, expected a number above 0'
bad "{$network, $step, \"input\": {\"examples_per_second\": null}}" ': input.examples_per_second is null, expected a number above 0'
bad "{$network, $step, \"shared_memory\": 1}" ': shared_memory is 1, expected true or false'
bad "{\"hosts\": 65536, \"processes_per_host\": 65536, $network, $step}" ': expected at most 1,048,576 units, found'
described "{$network, \"step\": \"none.json\"}"
expect 1 "cannot open '$work/none.json'" "${model[@]}" --cluster "$cluster"
described "{$network, \"step\": \"input.json\"}"
expect 1 "$work/input.json: expected 'min_ms', found none" "${model[@]}" --cluster "$cluster"
echo '{"event": "op"}' >"$work/step.json"
described "{$network, \"step\": \"step.json\"}"
expect 1 "$work/step.json: expected what \`tenon bench .. --json\` prints" "${model[@]}" --cluster "$cluster"
printf '{"event": "res' >>"$work/step.json"
expect 1 "$work/step.json:2:15: is damaged: the file ends in the middle" "${model[@]}" --cluster "$cluster"
expect 1 "cannot open '$work/none'" "${model[@]}" --cluster "$work/none"

echo '# usage'
described "{\"hosts\": 2, $network, $step}"
for flag in "--tpu v3-8" "--device cpu" "--sweep batch=8" "--top 3" "--soft_placement" "--price_per_hour 3"; do
  # shellcheck disable=SC2086  # words
  expect 2 "--cluster and ${flag%% *} exclude each other" "${model[@]}" --cluster "$cluster" $flag
done
expect 1 'train batch size 33 must be divisible by number of replicas 2' "${model[@]}" --cluster "$cluster" --batch 33
expect 2 "--optimizer: expected one of" "${model[@]}" --cluster "$cluster" --optimizer sgdd
described "{$step}"
expect 0 '' "${model[@]}" --cluster "$cluster"
expect 2 '--shard_optimizer_state is for several units or processes' "${model[@]}" --cluster "$cluster" --shard_optimizer_state
finish
