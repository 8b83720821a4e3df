#!/bin/bash
# A model that translates: from text to BLEU, on every device, by whole batches and by length; and what is refused.
#   runner_transformer.sh TENON
. "$(dirname "$0")/runner_lib.sh"
for i in $(seq 300); do
  n=$((i * 7 % 300))
  echo "The number is $n." >>"$work/en"
  echo "Die Zahl ist $n." >>"$work/de"
  [ $((n % 3)) -ne 0 ] || { echo "It is $n, which three divides without a rest." >>"$work/en" && echo "Es ist $n, was drei teilt." >>"$work/de"; }
done
head -n 24 "$work/en" >"$work/dev.en"
head -n 24 "$work/de" >"$work/dev.de"
expect 0 '' "$tenon" convert translation --source "$work/en" --target "$work/de" --dev_source "$work/dev.en" \
  --dev_target "$work/dev.de" --vocab_size 300 --train_shards 2 --max_length 32 --output "$work/data"
model=(transformer --param_set tiny --num_hidden_layers 1 --data_dir "$work/data")
train=("$tenon" train "${model[@]}" --warmup_steps 60 --learning_rate 4 --json)
devices='cpu opencl-gpu tpu-emulator:v2-8,dots=f32'

echo '# the same losses on each device, of one global batch'
for device in $devices; do
  "${train[@]}" --device "$device" --static_batch --batch_size 512 --dropout 0 --train_steps 12 \
    >"$work/loss.$device" 2>"$work/err" || complain "training on $device: $(cat "$work/err")"
done
loss() { sed -n 's/.*"event": "result".*"train_loss": \([0-9.e-]*\).*/\1/p' "$work/loss.$1"; }
for device in $devices; do
  awk -v a="$(loss cpu)" -v b="$(loss $device)" 'BEGIN { exit a > 1 && (a - b) ^ 2 < (1e-4 * a) ^ 2 ? 0 : 1 }' ||
    complain "loss on $device: $(loss $device), on cpu $(loss cpu)"
done

echo '# slices of four hosts: the same losses as one device with the same global batch'
slice=(--static_batch --batch_size 1024 --dropout 0 --train_steps 5 --noevaluate)
for device in cpu tpu-emulator:v2-32,dots=f32 tpu-emulator:v3-32,dots=f32; do
  pipelines=()
  [ $device = cpu ] || pipelines=(--per_host_input_for_training broadcast)
  "${train[@]}" --device "$device" "${slice[@]}" "${pipelines[@]}" --log_step_count_steps 1 >"$work/steps.$device" 2>"$work/err" ||
    complain "training on $device: $(cat "$work/err")"
  sed -n 's/.*"step": \([0-9]*\), "loss": \([0-9.e-]*\).*/\1 \2/p' "$work/steps.$device" >"$work/losses.$device"
done
paste "$work"/losses.* | awk '{ for (i = 3; i < 6; i += 2) if ($1 != $i || ($2 - $(i + 1)) ^ 2 > (1e-4 * $2) ^ 2) wrong = 1 }
  NF != 6 { wrong = 1 } END { exit wrong || NR < 5 }' || complain "losses of slices: $(paste "$work"/losses.*)"

echo '# fewer examples to evaluate than units: all are evaluated'
for device in cpu tpu-emulator:v3-8,dots=f32; do
  "${train[@]}" --device "$device" --static_batch --batch_size 512 --dropout 0 --train_steps 2 --steps_between_evals 1 --num_eval_examples 5 \
    >"$work/out" 2>"$work/err" || complain "evaluating 5 examples on $device: $(cat "$work/err")"
  [ "$(grep -c '"event": "evaluation".*"examples": 5,' "$work/out")" -eq 2 ] || complain "evaluations on $device: $(cat "$work/out")"
  result accuracy_top5 >"$work/few.${device%%:*}"
done
cmp -s "$work/few.cpu" "$work/few.tpu-emulator" || complain "5 examples on 8 units: $(cat "$work"/few.*)"

echo '# by length, in one go and in two, with BLEU of each evaluation'
bleu=(--bleu_source "$work/dev.en" --bleu_ref "$work/dev.de" --steps_between_evals 60 --save_summary_steps 20)
expect 0 '' "${train[@]}" --device cpu --batch_size 512 --train_steps 120 --model_dir "$work/whole" "${bleu[@]}"
whole=$(result hash) uncased=$(result bleu_uncased) cased=$(result bleu_cased)
[ "$(grep -c '"event": "evaluation".*"bleu_cased": ' "$work/out")" -eq 2 ] || complain "evaluations: $(cat "$work/out")"
expect 0 '' "${train[@]}" --device cpu --batch_size 512 --train_steps 60 --model_dir "$work/parts"
expect 0 '' "${train[@]}" --device cpu --batch_size 512 --train_steps 120 --model_dir "$work/parts" --threads 1
[ "$(result hash)" = "$whole" ] || complain "hash of two parts: $(result hash), of one $whole"
awk -v b="$uncased" 'BEGIN { exit b > 15 ? 0 : 1 }' || complain "BLEU $uncased after 120 steps"

[ "$(ls "$work/whole/bleu" | grep -c '^events')" -eq 1 ] || complain "summaries of BLEU: $(ls "$work/whole/bleu")"
[ -e "$work/parts/bleu" ] && complain 'summaries of BLEU that nobody measured'
if [ -e "$(dirname "$tenon")/../lib/tenon/pictures/cairo.so" ]; then
  expect 0 '' "$tenon" plot "$work/whole/bleu" --tags bleu_uncased,bleu_cased --output "$work/bleu.svg"
fi

echo '# translations'
translate=("$tenon" translate --model_dir "$work/whole" --file "$work/dev.en" --output)
for device in $devices; do
  expect 0 '' "${translate[@]}" "$work/out.$device" --device "$device"
  cmp -s "$work/out.cpu" "$work/out.$device" || complain "translations on $device are not those on cpu"
done
expect 0 '' "$tenon" score --reference "$work/dev.de" --hypothesis "$work/out.cpu" --json
[ "$(result bleu_uncased) $(result bleu_cased)" = "$uncased $cased" ] || complain "training said BLEU $uncased $cased: $(cat "$work/out")"
for how in '--padded_decode --decode_max_length 64' '--decode_batch_size 5'; do
  expect 0 '' "${translate[@]}" "$work/other" --device cpu $how
  cmp -s "$work/out.cpu" "$work/other" || complain "translations with $how are others"
done
"$tenon" translate --model_dir "$work/whole" --device cpu <"$work/dev.en" >"$work/other" || complain 'from standard input'
cmp -s "$work/out.cpu" "$work/other" || complain 'translations of standard input are others'
printf '\357\273\277%s' "$(cat "$work/dev.en")" | sed 's/$/\r/' >"$work/marked"
"$tenon" translate --model_dir "$work/whole" --device cpu <"$work/marked" >"$work/other" || complain 'from standard input with a byte order mark'
cmp -s "$work/out.cpu" "$work/other" || complain 'translations with a byte order mark and CRLF are others'
: >"$work/empty"
expect 0 '' "$tenon" translate --model_dir "$work/whole" --device cpu --file "$work/empty" --output "$work/other"
[ "$(cat "$work/out")" = '0 lines, nothing to translate' ] || complain "no lines: $(cat "$work/out")"
for beams in 4 1; do  # a line at a time, and words as they come
  command -v python3 >/dev/null || break
  python3 "$(dirname "$0")/translate_on_terminal.py" "$tenon" translate --model_dir "$work/whole" --device cpu --beam_size $beams >"$work/out" 2>&1 ||
    complain "on a terminal, $beams beams: $(cat "$work/out")"
done
printf 'The number is 7.\n\nThe number is 7.\n' >"$work/three"
expect 0 '' "$tenon" translate --model_dir "$work/whole" --file "$work/three" --json --beam_size 1 --device cpu
[ "$(grep -c '"translation": ""' "$work/out")" -eq 1 ] && [ "$(wc -l <"$work/out")" -eq 3 ] || complain "lines: $(cat "$work/out")"
# Blanks around a line are no part of it, and control characters blanks, as in what the model was trained on.
printf 'The number is 7.\n \t\n\302\240 The\tnumber\037is 7. \t\n' >"$work/blanks"
scores() { sed -n 's/.*"translation": \(.*\)/\1/p' "$work/out"; }
three=$(scores)
expect 0 '' "$tenon" translate --model_dir "$work/whole" --file "$work/blanks" --json --beam_size 1 --device cpu
[ "$(scores)" = "$three" ] || complain "with blanks: $(cat "$work/out"), expected $three"
for i in 1 2; do
  expect 0 '' "${translate[@]}" "$work/drawn.$i" --beam_size 1 --temperature 1 --top_p 0.9 --seed 5 --device cpu
done
cmp -s "$work/drawn.1" "$work/drawn.2" || complain 'one seed draws two texts'

echo '# what is refused'
printf 'The \377 is 7.\n' >"$work/bad"
expect 1 "$work/bad:1: " "$tenon" translate --model_dir "$work/whole" --file "$work/bad" --output "$work/none"
grep -qF 'no UTF-8' "$work/err" || complain "bytes that are no text: $(cat "$work/err")"
printf 'It is 7.\n\377\n' | expect 1 'line 2: ' "$tenon" translate --model_dir "$work/whole"
{ echo 'The number is 7.' && printf 'number %.0s' $(seq 1100) && echo; } >"$work/long"
"$tenon" translate --model_dir "$work/whole" --file "$work/long" --beam_size 1 --extra_decode_length 1 --device cpu >"$work/out" 2>"$work/err" ||
  complain "a long line: $(cat "$work/err")"
grep -qE "^tenon translate: $work/long:2: [0-9]+ tokens, cut to 1023, the most that are read$|$work/long:2: [0-9]+ tokens, cut to 1023, the most that are read$" "$work/err" || complain "a long line: $(cat "$work/err")"
[ ! -e "$work/none" ] || complain 'an error left an output'
expect 1 "cannot read '$work/none'" "$tenon" translate --model_dir "$work/whole" --file "$work/none"
expect 2 '--top_k needs a --temperature' "${translate[@]}" "$work/none" --top_k 3
expect 2 '--decode_max_length needs --padded_decode' "${translate[@]}" "$work/none" --decode_max_length 9
expect 2 '--temperature draws one text, expected --beam_size 1, found 4' "${translate[@]}" "$work/none" --temperature 1
expect 2 '--alpha does nothing with --beam_size 1' "${translate[@]}" "$work/none" --beam_size 1 --alpha 1
expect 2 '--seed is of what is drawn' "${translate[@]}" "$work/none" --seed 1
expect 0 '' "$tenon" convert translation --source "$work/dev.en" --target "$work/dev.de" \
  --dev_source "$work/dev.en" --dev_target "$work/dev.de" --vocab_size 100 --output "$work/small"
small=$work/$(cd "$work" && echo small/vocab.*) found="$(wc -l <"$work"/small/vocab.*) subtokens"
expect 2 "$small has $found, expected" "${translate[@]}" "$work/none" --vocab_file "$small"
expect 2 "$small has $found, expected" "${train[@]}" --vocab_file "$small" --train_steps 1
expect 2 'the hidden size is 36, expected an even multiple of the 5 heads' \
  "${train[@]}" --hidden_size 36 --num_heads 5 --filter_size 8 --train_steps 1 --model_dir "$work/none"
expect 2 '--bleu_source and --bleu_ref need each other' "${train[@]}" --bleu_source "$work/dev.en" --model_dir "$work/none"
expect 2 '--bleu_source has 24 lines and --bleu_ref 3' "${train[@]}" --bleu_source "$work/dev.en" --bleu_ref "$work/three" --model_dir "$work/none"
expect 2 '--model_dir is missing' "${train[@]}" --bleu_source "$work/dev.en" --bleu_ref "$work/dev.de"
expect 2 '--batch_size is 16 tokens, expected at least --max_length, 32' "${train[@]}" --batch_size 16
expect 2 'exclude each other' "${train[@]}" --batch_size 512 --train_batch_size 16
expect 2 '--nouse_ctl' "${train[@]}" --nouse_ctl
expect 2 '--distribution_strategy mirrored is not for' "${train[@]}" --device tpu-emulator:v2-8 --distribution_strategy mirrored

echo '# pairs that are too long are left out and counted, by length and in batches of one shape'
for how in --nostatic_batch --static_batch; do
  expect 0 '' "${train[@]}" --device cpu $how --max_length 8 --train_steps 2
  grep -q '"message": "training: left out [0-9]* examples, longer than max_length, 8"' "$work/out" &&
    grep -q '"message": "evaluation: left out [0-9]* examples, longer than max_length, 8"' "$work/out" || complain "$how: $(cat "$work/out")"
  grep -o 'left out [0-9]*' "$work/out" >"$work/left$how"
done
cmp -s "$work/left--nostatic_batch" "$work/left--static_batch" || complain "left out: $(cat "$work"/left--*)"
expect 1 'records are left out' "${train[@]}" --device cpu --static_batch --max_length 2 --train_steps 1

echo '# a vocabulary of another model'
# As many subtokens, in another order.
given=$(cd "$work/data" && echo vocab.*) other=$work/other.vocab
{ head -n 2 "$work/data/$given" && tail -n +3 "$work/data/$given" | tac; } >"$other"
trained=$work/whole/vocab.subtokens
cp "$trained" "$work/kept"
expect 2 "$other has other subtokens than $trained, which the model was trained with" "${translate[@]}" "$work/none" --vocab_file "$other"
expect 2 "--vocab_file: $other has other subtokens than $work/data/$given, which the records are of" "${train[@]}" --vocab_file "$other" --model_dir "$work/whole"
expect 0 '' "$tenon" convert translation --source "$work/en" --target "$work/de" --dev_source "$work/dev.en" --dev_target "$work/dev.de" \
  --vocab_file "$other" --max_length 32 --output "$work/others"
of_others=$work/others/$(cd "$work/others" && echo vocab.*)
expect 2 "$of_others has other subtokens than $trained" "${train[@]}" --data_dir "$work/others" --model_dir "$work/whole"
expect 2 "$of_others has other subtokens than $trained" "$tenon" evaluate "${model[@]}" --data_dir "$work/others" --model_dir "$work/whole"
cmp -s "$trained" "$work/kept" || complain 'an error changed the vocabulary of the model'
cp "$other" "$trained"
expect 1 "$trained has other subtokens than those that the model was trained with" "${translate[@]}" "$work/none"
cp "$work/kept" "$trained"
expect 0 '' "${translate[@]}" "$work/other" --vocab_file "$work/data/$given" --device cpu
cmp -s "$work/out.cpu" "$work/other" || complain 'translations with the vocabulary of the data are others'
# A model directory of before remembers none but by its file.
perl -0pi -e 's/,\s*"vocabulary": "[0-9a-f]*"//' "$work/whole/model.json"
grep -q vocabulary "$work/whole/model.json" && complain "model.json: $(cat "$work/whole/model.json")"
expect 2 "$other has other subtokens than $trained, which" "${translate[@]}" "$work/none" --vocab_file "$other"
expect 2 'does not translate' "$tenon" translate mlp --model_dir "$work/none" --file "$work/three"
finish
