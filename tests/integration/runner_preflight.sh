#!/bin/bash
# tenon preflight: what it says of models, sweeps and jobs, and each mistake.
. "$(dirname "$0")/runner_lib.sh"
preflight=("$tenon" preflight)
mlp=("${preflight[@]}" mlp --tpu v2-8 --optimizer rmsprop_momentum)

# says PATTERN..: each fixed string is in what the command before wrote.
says() {
  for pattern in "$@"; do
    grep -qF -e "$pattern" "$work/out" || complain "expected '$pattern' in: $(cat "$work/out")"
  done
}

# lines CODE PATTERN COMMAND..: as expect, but standard error may have several lines.
lines() {
  local code=$1 pattern=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  local found=$?
  [ "$found" -eq "$code" ] || complain "$*: exit code $found, expected $code: $(cat "$work/err")"
  grep -qF -e "$pattern" "$work/err" || complain "$*: expected '$pattern' in: $(cat "$work/err")"
}

echo '# every model'
for model in mlp fashion flowers resnet; do
  expect 0 '' "${preflight[@]}" $model --tpu v3-8 --batch 256
  says "$model on tpu-emulator:v3-8: accepted" 'batch 256, 32 a core' 'memory of a core, planned:' 'predicted step:' \
    'kernels that take longest' 'whole run, predicted:' 'held against measurements'
done
expect 0 '' "${preflight[@]}" resnet --depth 50 --device tpu-emulator:v3-8 --batch 1024 --train_steps 1000 --price_per_hour 8 --top 3
says '25,636,712 parameters' 'cost ' 'at 8 an hour'

echo '# models of text'
expect 0 '' "${preflight[@]}" transformer --param_set base --tpu v3-8 --batch_size 6144 --static_batch
says 'transformer on tpu-emulator:v3-8, pairs of at most 64 tokens of 33,708: accepted' 'batch 96, 12 a core' '61,362,176 parameters'
expect 0 '' "${preflight[@]}" transformer --param_set big --tpu v3-8 --train_batch_size 96 --json
says '"verdict": "accepted"' '210804736'
expect 2 '--batch_size is 16 tokens, expected at least --max_length, 64' "${preflight[@]}" transformer --tpu v3-8 --batch_size 16
expect 2 '--batch_size, in tokens, and --train_batch_size, in examples, exclude each other' \
  "${preflight[@]}" transformer --tpu v3-8 --batch_size 6144 --batch 96
expect 2 '--batch_size and --sweep' "${preflight[@]}" transformer --tpu v3-8 --batch_size 6144 --sweep batch=64
expect 2 '--nostatic_batch' "${preflight[@]}" transformer --tpu v3-8 --nostatic_batch
expect 0 '' "${preflight[@]}" reader --param_set tiny --tpu v3-8 --batch 64
says 'reader on tpu-emulator:v3-8, questions and texts of at most 384 tokens of 8,192: accepted' '387,714 parameters'
expect 0 '' "${preflight[@]}" gpt --vocab_size 50257 --max_length 1024 --tpu v3-8 --batch 8
says 'gpt on tpu-emulator:v3-8, text, 1024 tokens of 50,257 at a time: ' '124,439,808 parameters'
expect 0 '' "${preflight[@]}" table --tpu v3-8 --batch 1024
says 'table on tpu-emulator:v3-8: accepted'

echo '# layers whose sizes fill no tiles'
# 1024 on 8 cores: the batch of 128 lies in lanes, and 1 channel in 8 sublanes; 10 classes in 128 lanes.
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --batch 1024
grep -qE '^   87\.5 % +f32\[128,28,28,1\] +image +features 1 take 8$' "$work/out" || complain "no padded image: $(cat "$work/out")"
grep -qE '^   92\.2 % +[0-9.]+ % +f32\[128,10\] +dense +features 10 take 128$' "$work/out" || complain "no padded layer: $(cat "$work/out")"
grep -q 'conv2d .*features 32' "$work/out" && complain "32 channels fill 4 sublanes of 8: $(cat "$work/out")"
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --batch 1024 --json --top 0
says '"padded_layers": [{"layer": "image"' '"sizes": [{"what": "features", "size": 10, "padded": 128}]'
# 128 numbers to 1,024 and 256 classes, 64 a core: nothing is padded.
expect 0 '' "${mlp[@]}" --layers 2 --nodes 1024 --input 128 --output 256 --batch 512
grep -q 'no whole tiles' "$work/out" && complain "nothing is padded, yet: $(cat "$work/out")"

echo '# as JSON'
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --batch 1024 --train_steps 3600 --price_per_hour 1000 --json
[ "$(wc -l <"$work/out")" -eq 1 ] || complain "expected one object, found $(wc -l <"$work/out") lines"
says '"event": "result"' '"verdict": "accepted"' '"machine": "v3-8"' '"validated": true' '"cores": 8' '"parameters": 50186' \
  '"core_batch_size": 128' '"kernels": [{' '"allocations": [{' '"bottleneck": "' '"matrix_utilisation": '
# 3,600 steps at 1,000 an hour cost as much as a step has milliseconds: ms * 3600 / 1000 / 3600 * 1000.
perl -ne '/"step": \{"predicted_ms": ([0-9.e-]+)/; my $ms = $1; /"cost": ([0-9.e-]+)/;
  exit(abs($1 / $ms - 1) < 1e-9 ? 0 : 1)' "$work/out" || complain "the cost is no product of time and price: $(cat "$work/out")"

echo '# the nets of --layers and --nodes'
expect 0 '' "${mlp[@]}" --layers 4 --nodes 512 --input 2000 --output 1000 --batch 1024
# 2000*512 + 3*512*512 + 512*1000 weights and 4*512 + 1000 biases
says '2,325,480 parameters'
expect 0 '' "${mlp[@]}" --hidden 128,64 --batch 64
says '109,386 parameters' # 784*128+128 + 128*64+64 + 64*10+10
expect 0 '' "$tenon" train mlp --device cpu --synthetic --layers 2 --nodes 8 --input 5 --output 3 --batch 16 --train_steps 2 \
  --optimizer rmsprop_momentum --num_eval_images 16
says '147 parameters' # 5*8+8 + 8*8+8 + 8*3+3

echo '# what a TPU refuses'
expect 1 'train batch size 100 must be divisible by number of replicas 8' "${preflight[@]}" fashion --tpu v3-8 --batch 100
says 'fashion on tpu-emulator:v3-8: refused'
lines 1 'Compilation failure: Ran out of memory in memory space hbm. Used ' "${mlp[@]}" --layers 64 --nodes 8192 --input 2000 \
  --output 1000 --batch 1024
says 'out of memory'
grep -qE '^    (reserved|program|arguments) ' "$work/err" || complain "the report has lost its lines: $(cat "$work/err")"
grep -qF '  1. Size: 256.00M' "$work/err" || complain "the report has no largest allocation: $(cat "$work/err")" # 8192^2 f32
lines 1 'Ran out of memory' "${mlp[@]}" --layers 64 --nodes 8192 --input 2000 --output 1000 --batch 1024 --json
[ "$(wc -l <"$work/out")" -eq 1 ] || complain 'a refusal is not one object of JSON'
says '"verdict": "oom"' '\nTotal hbm usage >= '

echo '# a batch with a bound'
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --batch 1024 --bounded_batch
says 'inputs of a core: image f32[128,28,28,1], label i32[128]' 'one program for batches of up to 1,024' \
  'inputs of a core: image f32[<=128,28,28,1], label i32[<=128]'
# Masks are work that the static form has not; a batch of one size is never slower.
perl -0ne '/device ([0-9.]+) ms \(([0-9.]+) ms\)/; exit($1 > $2 && $2 > 0 ? 0 : 1)' "$work/out" ||
  complain "the bounded form costs nothing: $(cat "$work/out")"
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --batch 1024 --bounded_batch --json
says '"bounded_batch": {"verdict": "accepted"' '"type": "f32[<=128,28,28,1]"' '"type": "f32[<=128,28,28,32]"'
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --batch 1024 --json
grep -q '<=' "$work/out" && complain "a bound that nobody asked for: $(cut -c1-2000 "$work/out")"
lines 1 'Ran out of memory' "${mlp[@]}" --layers 64 --nodes 8192 --input 2000 --output 1000 --batch 1024 --bounded_batch
expect 2 '--bounded_batch and --sweep exclude each other' "${preflight[@]}" fashion --tpu v3-8 --sweep batch=64 --bounded_batch
expect 0 '' "$tenon" inspect graph mlp --bounded_batch --batch_size 64
says "feed f32[<=64,28,28,1] 'image'" "f32[<=64,10] 'dense_1/dot_bias_act'" "'size of batch'"
expect 0 '' "$tenon" inspect graph mlp --bounded_batch --batch_size 64 --device tpu-emulator:v3-8
says "feed f32[<=8,28,28,1] 'image'"

echo '# sweeps'
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --sweep batch=64..1024 --price_per_hour 8
[ "$(grep -c ' accepted ' "$work/out")" -eq 5 ] || complain "expected 5 rows, found: $(cat "$work/out")"
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --sweep batch=64,100,256
says 'refused' 'train batch size 100 must be divisible by number of replicas 8'
[ "$(grep -c ' accepted ' "$work/out")" -eq 2 ] || complain "expected 2 rows, found: $(cat "$work/out")"
expect 1 'batch size 100' "${preflight[@]}" fashion --tpu v3-8 --sweep batch=100
expect 0 '' "${preflight[@]}" fashion --tpu v3-8 --sweep batch=64,100 --json
[ "$(wc -l <"$work/out")" -eq 1 ] || complain 'a sweep is not one object of JSON'
says '"sweep": [{"batch_size": 64, "verdict": "accepted"' '"batch_size": 100, "verdict": "refused"'

echo '# jobs'
printf 'layers,nodes,input,output,batch\n4,512,2000,1000,1024\n64,8192,2000,1000,1024\n' >"$work/jobs.csv"
expect 0 '' "${preflight[@]}" mlp --tpu v2-8 --jobs "$work/jobs.csv"
[ "$(head -n 1 "$work/out")" = layers,nodes,input,output,batch,predicted_ms,verdict ] || complain "header: $(head -n 1 "$work/out")"
grep -qE '^4,512,2000,1000,1024,[0-9.]+,run$' "$work/out" || complain "the first row: $(cat "$work/out")"
says '64,8192,2000,1000,1024,,oom'
cp "$work/out" "$work/first"
# A row is what the same flags say; other orders of the columns, comments and measured times change nothing.
ms=$(sed -n 's/^4,512.*,\(.*\),run$/\1/p' "$work/out")
expect 0 '' "${mlp[@]}" --layers 4 --nodes 512 --input 2000 --output 1000 --batch 1024 --json
perl -ne "/\"predicted_ms\": ([0-9.e-]+)/; exit(abs(\$1 / $ms - 1) < 1e-5 ? 0 : 1)" "$work/out" ||
  complain "the row says $ms ms, the flags $(cut -c1-2000 "$work/out")"
printf '# comment\r\nbatch,step_ms, nodes,output,input,layers\r\n1024,9.5,512,1000,2000,4\r\n\r\n1024,,8192,1000,2000,64' >"$work/mixed.csv"
expect 0 '' "${preflight[@]}" mlp --tpu v2-8 --jobs "$work/mixed.csv"
cmp -s "$work/first" "$work/out" || complain "other columns: $(cat "$work/out")"
printf '4,512,2000,1000,1024\n64,8192,2000,1000,1024,\n' >"$work/plain.csv"
expect 0 '' "${preflight[@]}" mlp --tpu v2-8 --jobs "$work/plain.csv" --threads 1
cmp -s "$work/first" "$work/out" || complain "no header: $(cat "$work/out")"

echo '# bad jobs'
bad() { # LINES PATTERN: nothing is written
  printf "$1" >"$work/bad.csv"
  expect 1 "$work/bad.csv$2" "${preflight[@]}" mlp --tpu v2-8 --jobs "$work/bad.csv"
  [ ! -s "$work/out" ] || complain "bad jobs wrote $(cat "$work/out")"
}
bad '4,512,2000,1000,1024\n4,512,2000,many,1024\n' ":2: column output: expected an integer from 1 to 16,777,216, found 'many'"
bad '4,512,2000,1000,1024\n4,512,2000\n' ':2: expected 5 columns, found 3'
bad '4,0,2000,1000,1024\n' ":1: column nodes: expected an integer from 1 to 1,048,576, found '0'"
bad '4,512,2000,1000,99999999999999999999\n' ":1: column batch: expected an integer from 1 to"
bad '# x\nlayers,nodes,input,output,batch\n4,512,2000,1000,100\n' ':3: column batch: expected a multiple of the 8 cores, found 100'
bad 'layers,nodes,input,output\n' ":1: expected layers,nodes,input,output,batch in any order, found no column 'batch'"
bad 'layers,nodes,input,output,batch,batch\n' ":1: expected layers,nodes,input,output,batch in any order, found the column 'batch' twice"
bad 'layers,nodes,width,output,batch\n' ":1: expected layers,nodes,input,output,batch in any order, found the column 'width'"
bad '' ': expected rows, found none'
bad 'layers,nodes,input,output,batch\n' ': expected rows, found none'
bad '4,512,2000,\0,1024\n' ':1: column output'
expect 1 "cannot open '$work/none.csv': No such file or directory" "${preflight[@]}" mlp --tpu v2-8 --jobs "$work/none.csv"
expect 1 "$work" "${preflight[@]}" mlp --tpu v2-8 --jobs "$work"

echo '# usage'
expect 2 "--tpu: no machine 'v9-8'" "${preflight[@]}" mlp --tpu v9-8
grep -q 'known are .*v2-8.*v3-8' "$work/err" || complain "the known machines are not listed: $(cat "$work/err")"
expect 2 '--tpu: is missing; known are' "${preflight[@]}" mlp
expect 2 'exclude each other' "${preflight[@]}" mlp --tpu v3-8 --device tpu-emulator:v3-8
expect 2 'exclude each other' "${preflight[@]}" mlp --tpu v3-8 --jobs "$work/jobs.csv" --sweep batch=8
expect 2 '--jobs and --layers exclude each other' "${preflight[@]}" mlp --tpu v3-8 --jobs "$work/jobs.csv" --layers 3
expect 2 '--jobs is for the model mlp' "${preflight[@]}" resnet --tpu v3-8 --jobs "$work/jobs.csv"
for sweep in batch=0 batch=8,x batch=8..4 batch= batch=8, size=8 batch=8..99999999999; do
  expect 2 '--sweep: expected batch=256,512' "${preflight[@]}" mlp --tpu v3-8 --sweep $sweep
done
expect 2 'expected one model' "${preflight[@]}" --tpu v3-8
expect 1 "device 'cpu' does not predict what a step would take" "${preflight[@]}" mlp --device cpu
expect 1 'nodes: is missing beside layers' "${mlp[@]}" --layers 3
expect 2 '--input is for vectors' "$tenon" train mlp --input 5 --data_dir "$work"
expect 0 '' "${preflight[@]}" --help
says '--sweep' '--jobs' '--price_per_hour'
finish
