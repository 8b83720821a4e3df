#!/bin/bash
# Documents and their summaries: from lines of text to a model that writes summaries, on every device.
#   runner_summaries.sh TENON
. "$(dirname "$0")/runner_lib.sh"
for i in $(seq 400); do
  n=$((i * 7 % 40))
  printf 'A long text about the thing %d, its many parts and uses. More words follow that no summary has, number %d.\tthing %d\n' $n $i $n
done >"$work/all.tsv"
head -n 24 "$work/all.tsv" >"$work/dev.tsv"
sed 's/\(.*\)\t\(.*\)/{"document": "\1", "summary": "\2"}/' "$work/all.tsv" >"$work/all.jsonl"
convert=("$tenon" convert summaries --dev_pairs "$work/dev.tsv" --vocab_size 200 --train_shards 2 --max_length 24 --max_target_length 8)
contents() { (cd "$1" && find . -type f ! -path '*/.*' -exec cksum {} + | sort); }

echo '# records'
expect 0 '' "${convert[@]}" --pairs "$work/all.tsv" --output "$work/data" --json
grep -q '"train": {"records": 400, .*"too_long": 0, "shortened": 400}' "$work/out" || complain "records: $(cat "$work/out")"
grep -q '"max_length": 24, "max_target_length": 8,' "$work/data/info.json" || complain "info.json: $(cat "$work/data/info.json")"
expect 0 '' "${convert[@]}" --pairs "$work/all.jsonl" --output "$work/json"
[ "$(contents "$work/data")" = "$(contents "$work/json")" ] || complain 'lines of JSON give other bytes'
grep -q '^train: 400 texts shortened$' "$work/out" || complain "what was cut: $(cat "$work/out")"

echo '# a model'
model=(transformer --param_set tiny --num_hidden_layers 1 --dropout 0 --data_dir "$work/data")
for device in cpu opencl-gpu tpu-emulator:v2-8,dots=f32; do
  "$tenon" train "${model[@]}" --device "$device" --train_steps 5 --noevaluate --json >"$work/out" 2>"$work/err" ||
    complain "training on $device: $(cat "$work/err")"
  loss=$(result loss)
  [ "$device" = cpu ] && first=$loss
  awk -v a="$first" -v b="$loss" 'BEGIN { exit a > 1 && (a - b) ^ 2 < (1e-4 * a) ^ 2 ? 0 : 1 }' || complain "loss on $device: $loss, on cpu $first"
done
expect 0 '' "$tenon" train "${model[@]}" --device cpu --model_dir "$work/model" --warmup_steps 200 --train_steps 800
cut -f 1 "$work/dev.tsv" >"$work/documents"
cut -f 2 "$work/dev.tsv" >"$work/summaries"
for device in cpu opencl-gpu tpu-emulator:v2-8; do
  expect 0 '' "$tenon" summarize --model_dir "$work/model" --file "$work/documents" --output "$work/out.$device" --device "$device"
  cmp -s "$work/out.cpu" "$work/out.$device" || complain "summaries on $device are not those on cpu"
done
expect 0 '' "$tenon" score --reference "$work/summaries" --hypothesis "$work/out.cpu" --metric rouge_l --json
awk -v f="$(result rouge_l_f1)" 'BEGIN { exit f > 0.7 ? 0 : 1 }' || complain "ROUGE-L: $(cat "$work/out")"
expect 0 '' "$tenon" summarize --model_dir "$work/model" --file "$work/documents" --decode_max_length 2 --beam_size 1 --json --device cpu
[ "$(grep -c '"event": "summary".*"summary": "' "$work/out")" -eq 24 ] || complain "as JSON: $(cat "$work/out")"

echo '# what is refused'
expect 2 'whose name ends with .tsv or .jsonl' "${convert[@]}" --pairs "$work/all.mo" --output "$work/no"
expect 2 '--max_target_length is 30, expected at most --max_length, 24' "${convert[@]}" --pairs "$work/all.tsv" --max_target_length 30 --output "$work/no"
expect 2 '--pairs' "${convert[@]}" --output "$work/no"
echo '{"document": "d"}' >"$work/bad.jsonl"
expect 1 "$work/bad.jsonl:1: expected an object with the texts 'document' and 'summary', found no 'summary'" "${convert[@]}" --pairs "$work/bad.jsonl" --output "$work/no"
[ ! -e "$work/no" ] || complain 'an error left a directory'
expect 2 '--nostatic_batch and a max_target_length exclude each other' "$tenon" train "${model[@]}" --nostatic_batch --train_steps 1
expect 2 'the model reader does not summarize; transformer does' "$tenon" summarize reader --model_dir "$work/no"
expect 2 'extra_decode_length' "$tenon" summarize --model_dir "$work/model" --extra_decode_length 3
finish
