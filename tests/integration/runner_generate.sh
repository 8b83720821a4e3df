#!/bin/bash
# A language model: from text to text, on every device; and what is refused.
#   runner_generate.sh TENON
. "$(dirname "$0")/runner_lib.sh"
# Sentences that say what comes after a number that is drawn; two empty lines, which become one.
perl -e '
  my $state = 1;
  for my $i (1 .. 400) {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    my $n = ($state >> 16) % 10;
    print "After $n comes ", ($n + 1) % 10, ".\n", $i % 50 ? "" : "\n\n";
  }' >"$work/text"
convert=("$tenon" convert text --vocab_size 100 --max_length 32 --train_shards 2 --dev_fraction 0.2 --output)
expect 0 '' "${convert[@]}" "$work/data" --input "$work/text" --json --threads 1
expect 0 '' "${convert[@]}" "$work/again" --input "$work/text" --threads 4
[ "$(cat "$work"/data/t* "$work"/data/v* | cksum)" = "$(cat "$work"/again/t* "$work"/again/v* | cksum)" ] || complain 'one thread and four give other bytes'
{ cat "$work/text" && printf 'no \377 text\n'; } >"$work/bad"
expect 0 "" "$tenon" convert text --vocab_size 100 --output "$work/dev" --input "$work/bad" --dev "$work/text" --json
grep -q '"not_utf8": 1' "$work/out" || complain "lines left out: $(cat "$work/out")"

echo '# training'
train=("$tenon" train gpt --param_set tiny --data_dir "$work/data" --dropout 0 --warmup_steps 20 --learning_rate 0.002 --json)
devices='cpu opencl-gpu tpu-emulator:v2-8,dots=f32'
for device in $devices; do
  "${train[@]}" --device "$device" --train_steps 8 --noevaluate >"$work/loss.$device" 2>"$work/err" || complain "training on $device: $(cat "$work/err")"
done
loss() { sed -n 's/.*"event": "result".*"loss": \([0-9.e-]*\).*/\1/p' "$work/loss.$1"; }
for device in $devices; do
  awk -v a="$(loss cpu)" -v b="$(loss "$device")" 'BEGIN { exit a > 1 && (a - b) ^ 2 < (1e-4 * a) ^ 2 ? 0 : 1 }' ||
    complain "loss on $device: $(loss "$device"), on cpu $(loss cpu)"
done
expect 0 '' "${train[@]}" --device cpu --train_steps 200 --model_dir "$work/model"

echo '# text'
generate=("$tenon" generate --model_dir "$work/model")
for device in $devices; do
  "${generate[@]}" --device "$device" --prompt 'After 4 comes' --one_line --temperature 0 --length 16 >"$work/out" 2>"$work/err"
  [ "$(cat "$work/out")" = 'After 4 comes 5.' ] || complain "on $device: $(cat "$work/out" "$work/err")"
done
printf 'After 1\nAfter 8 comes\n' >"$work/prompts"
expect 0 '' "${generate[@]}" --device cpu --file "$work/prompts" --one_line --temperature 0 --length 16 --json
grep -q '"prompt": "After 1", "text": "After 1 comes 2."' "$work/out" && grep -q '"text": "After 8 comes 9."' "$work/out" || complain "prompts: $(cat "$work/out")"
draw() { "${generate[@]}" --device cpu --length 32 --temperature 1.5 --num_samples 3 --seed "$1" >"$work/drawn.$2"; }
draw 1 a && draw 1 b && draw 2 c || complain 'drawing failed'
cmp -s "$work/drawn.a" "$work/drawn.b" || complain 'one seed draws two texts'
! cmp -s "$work/drawn.a" "$work/drawn.c" || complain 'two seeds draw one text'
[ "$(grep -c After "$work/drawn.a")" -ge 3 ] || complain "three samples: $(cat "$work/drawn.a")"

if command -v python3 >/dev/null; then  # where words appear as they come
  long=("${generate[@]}" --device cpu --length 32 --temperature 1.5 --seed 1)
  "${long[@]}" >"$work/piped" 2>"$work/err" || complain "drawing failed: $(cat "$work/err")"
  python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "${long[@]}" </dev/null | tr -d '\r' >"$work/shown"
  cmp -s "$work/piped" "$work/shown" || complain "on a terminal: $(cat "$work/shown"), expected $(cat "$work/piped")"
fi

echo '# what is refused'
expect 1 'no UTF-8' "${generate[@]}" --prompt $'\377'
printf 'After 1\n\377\n' >"$work/bad_prompts"
expect 1 "$work/bad_prompts:2: " "${generate[@]}" --file "$work/bad_prompts"
expect 1 '--prompt: the prompt has' "${generate[@]}" --prompt 'After 4 comes 5. After 5 comes 6.' --length 4
expect 1 'expected fewer than 4, the length of a prompt and its text' "${generate[@]}" --prompt 'After 4 comes 5. After 5 comes 6.' --length 4
expect 2 'the model sees 32 tokens' "${generate[@]}" --length 64
expect 2 '--top_k needs a --temperature above 0' "${generate[@]}" --temperature 0 --top_k 3
# As many subtokens, in another order.
given=$work/data/$(cd "$work/data" && echo vocab.*)
{ head -n 2 "$given" && tail -n +3 "$given" | tac; } >"$work/other.vocab"
expect 2 "$work/other.vocab has other subtokens than $work/model/vocab.subtokens, which" "${generate[@]}" --vocab_file "$work/other.vocab"
expect 2 'which the records are of' "${train[@]}" --vocab_file "$work/other.vocab" --train_steps 1
"${generate[@]}" --device cpu --prompt 'After 4 comes' --one_line --temperature 0 --length 16 --vocab_file "$given" >"$work/out" 2>"$work/err"
[ "$(cat "$work/out")" = 'After 4 comes 5.' ] || complain "with the vocabulary of the data: $(cat "$work/out" "$work/err")"
expect 2 '--prompt and --file exclude each other' "${generate[@]}" --prompt a --file "$work/prompts"
expect 2 'does not continue text' "$tenon" generate mlp --model_dir "$work/none"
"$tenon" inspect checkpoint "$work/model" --values decoder/positions >"$work/out" 2>&1 || complain "positions: $(head -c 300 "$work/out")"
expect 1 "$work/none" "$tenon" generate gpt --model_dir "$work/none"
expect 2 'does not translate' "$tenon" translate --model_dir "$work/model" --file "$work/prompts"
expect 2 '--input is missing' "${convert[@]}" "$work/none"
expect 1 "$work/none" "${convert[@]}" "$work/other" --input "$work/none"
[ ! -e "$work/other" ] || complain 'an error left a directory'
finish
