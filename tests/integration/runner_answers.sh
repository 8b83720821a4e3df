#!/bin/bash
# Questions about texts: from SQuAD's JSON to a model that answers them, on every device; and what is refused.
#   runner_answers.sh TENON
. "$(dirname "$0")/runner_lib.sh"
# $2 paragraphs, each with a question for its name or its colour; every eighth text has no colour.
make_questions() {
  perl -e '
    my ($path, $n, $from) = @ARGV;
    binmode(STDOUT, ":utf8");
    open(my $out, ">:utf8", $path) or die;
    my @colours = ("red", "blue", "gr\x{fc}n", "\x{1f308} rainbow");
    my @all;
    for my $i ($from .. $from + $n - 1) {
      my $colour = $i % 8 ? $colours[$i % 4] : "";
      my $name = "n" . $i * 7 % 50;
      my $context = "Thing $i \x{fc}ber all" . ($colour ne "" ? ". Its colour is $colour" : "") . ". Its name is $name.";
      my ($question, $answer) = $i % 2 ? ("What is its name?", $name) : ("Which colour has it?", $colour);
      my $at = $answer eq "" ? -1 : rindex($context, $answer);
      my $answers = $answer eq "" ? "" : "{\"text\": \"$answer\", \"answer_start\": $at}";
      push @all, "{\"qas\": [{\"question\": \"$question\", \"id\": \"q$i\", \"answers\": [$answers], \"is_impossible\": "
        . ($answer eq "" ? "true" : "false") . "}], \"context\": \"$context\"}";
    }
    print $out "{\"version\": \"v2.0\", \"data\": [{\"title\": \"things\", \"paragraphs\": [" . join(",\n", @all) . "]}]}\n";
  ' "$1" "$2" "$3"
}
make_questions "$work/train.json" 600 0
make_questions "$work/dev.json" 40 1000
convert=("$tenon" convert answers --vocab_size 200 --max_length 48 --train_shards 3)
contents() { (cd "$1" && find . -type f ! -path '*/.*' -exec cksum {} + | sort); }

echo '# records'
for threads in 1 4; do
  expect 0 '' "${convert[@]}" --train "$work/train.json" --dev "$work/dev.json" --output "$work/data.$threads" --threads $threads
done
data=$work/data.1
[ "$(contents "$data")" = "$(contents "$work/data.4")" ] || complain 'one thread and four give other bytes'
expected='info.json train-00001-of-00003 train-00002-of-00003 train-00003-of-00003 validation-00001-of-00001 vocab.answers.200'
[ "$(cd "$data" && echo *)" = "$expected" ] || complain "files: $(cd "$data" && echo *)"
grep -q '"max_length": 48, "doc_stride": 128, "train": {"records": 600, "shards": 3}, "dev": {"records": 40,' "$data/info.json" ||
  complain "info.json: $(cat "$data/info.json")"
expect 0 '' "${convert[@]}" --train "$work/train.json" --output "$work/held"
[ "$(sed -n 's/.*"train": {"records": \([0-9]*\).*/\1/p' "$work/held/info.json")" -lt 600 ] || complain 'nothing was held out'
expect 0 '' "$tenon" convert answers --train "$work/train.json" --dev "$work/dev.json" --vocab_file "$data/vocab.answers.200" \
  --max_length 48 --train_shards 3 --output "$work/given"
[ "$(contents "$data")" = "$(contents "$work/given")" ] || complain 'the vocabulary that is given gives other bytes'

echo '# five steps on each device give the same loss, and answers'
reader=(reader --param_set tiny --num_hidden_layers 2 --dropout 0 --warmup_steps 50 --data_dir "$data")
for device in cpu opencl-gpu tpu-emulator:v2-8,dots=f32; do
  "$tenon" train "${reader[@]}" --device "$device" --model_dir "$work/$device" --train_steps 5 --noevaluate --json \
    >"$work/out" 2>"$work/err" || complain "training on $device: $(cat "$work/err")"
  loss=$(result loss)
  [ "$device" = cpu ] && first=$loss
  awk -v a="$first" -v b="$loss" 'BEGIN { exit a > 1 && (a - b) ^ 2 < (1e-4 * a) ^ 2 ? 0 : 1 }' || complain "loss on $device: $loss, on cpu $first"
  expect 0 '' "$tenon" answer --model_dir "$work/cpu" --device "$device" --file "$work/dev.json" --output "$work/answers.$device"
  cmp -s "$work/answers.cpu" "$work/answers.$device" || complain "answers on $device are not those on cpu"
done

echo '# a model that has learnt'
expect 0 '' "$tenon" train "${reader[@]}" --device cpu --model_dir "$work/model" --train_steps 400 --json
awk -v a="$(result accuracy)" 'BEGIN { exit a > 0.8 ? 0 : 1 }' || complain "accuracy: $(tail -n 1 "$work/out")"
answer=("$tenon" answer --model_dir "$work/model" --device cpu)
expect 0 '' "${answer[@]}" --file "$work/dev.json" --output "$work/answers.json"
grep -qE '^exact match (8|9|10)[0-9.]+ %, F1 [0-9.]+ % of 40 questions$' "$work/out" || complain "score: $(cat "$work/out")"
[ "$(grep -c '^"q10[0-9]*": ".*",\?$' "$work/answers.json")" -eq 40 ] || complain "predictions: $(cat "$work/answers.json")"
grep -q '"q1001": "n7"' "$work/answers.json" || complain "predictions: $(cat "$work/answers.json")"
grep -q '": "",\?$' "$work/answers.json" || complain 'no question is without an answer'
"${answer[@]}" --file "$work/dev.json" >"$work/other.json" 2>"$work/err" || complain "answers on standard output: $(cat "$work/err")"
cmp -s "$work/answers.json" "$work/other.json" || complain 'answers on standard output are others'
grep -q '^exact match' "$work/err" || complain "no score: $(cat "$work/err")"
expect 0 '' "${answer[@]}" --file "$work/dev.json" --noallow_empty --json --n_best 3
! grep -q '"answer": ""' "$work/out" || complain '--noallow_empty gives empty answers'
grep '"event": "answer"' "$work/out" | head -n 1 | grep -qE '"n_best": \[(\{"text": "[^"]*", "score": [-0-9.e]*\}(, )?){3}\]' || complain "n best: $(head -n 1 "$work/out")"
expect 0 '' "${answer[@]}" --question 'What is its name?' --context 'Thing 1001 über all. Its colour is blue. Its name is n7.'
[ "$(cat "$work/out")" = n7 ] || complain "one question: $(cat "$work/out")"
expect 0 '' "${answer[@]}" --question 'What is its name?' --context "$(printf 'Thing 5 über all. %.0s' {1..30})Its name is n32." --max_answer_length 3 --json
expect 0 '' "$tenon" evaluate reader --model_dir "$work/model" --data_dir "$data" --device cpu --json
awk -v a="$(result accuracy)" 'BEGIN { exit a > 0.8 ? 0 : 1 }' || complain "accuracy: $(cat "$work/out")"

echo '# what is refused'
expect 1 "$work/none" "${convert[@]}" --train "$work/none" --output "$work/no"
echo '{"data": [' >"$work/cut.json"
expect 1 "$work/cut.json: no valid JSON in UTF-8 at its byte 12: it ends in the middle" "${convert[@]}" --train "$work/cut.json" --output "$work/no"
printf '{"data": "\377"}' >"$work/bytes.json"
expect 1 "$work/bytes.json: no valid JSON in UTF-8 at its byte 11" "${convert[@]}" --train "$work/bytes.json" --output "$work/no"
echo '{"data": [{"paragraphs": {}}]}' >"$work/kind.json"
expect 1 "$work/kind.json: data[0].paragraphs is an object, expected a list" "${convert[@]}" --train "$work/kind.json" --output "$work/no"
echo '{"data": [{"paragraphs": [{"context": "äb", "qas": [{"id": "1", "question": "q", "answers": [{"text": "b", "answer_start": 2}]}]}]}]}' >"$work/out.json"
expect 1 'answers[0].answer_start is 2, expected a place in the 2 characters' "${convert[@]}" --train "$work/out.json" --output "$work/no"
sed 's/: 2}/: 0}/' "$work/out.json" >"$work/misplaced.json"
expect 1 "the first is left out as misplaced at $work/misplaced.json: data[0].paragraphs[0].qas[0]" "${convert[@]}" \
  --train "$work/misplaced.json" --dev "$work/dev.json" --output "$work/no"
expect 2 '--train' "${convert[@]}" --output "$work/no"
expect 2 '--dev_fraction and dev files exclude each other' "${convert[@]}" --train a --dev b --dev_fraction 0.1 --output "$work/no"
[ ! -e "$work/no" ] || complain 'an error left a directory'
sed 's/"id": "q1001"/"id": "q1002"/' "$work/dev.json" >"$work/twice.json"
expect 1 "the id 'q1002' stands there twice" "${answer[@]}" --file "$work/twice.json" --output "$work/no"
expect 1 "$work/kind.json" "${answer[@]}" --file "$work/kind.json" --output "$work/no"
[ ! -e "$work/no" ] || complain 'an error left answers'
expect 2 '--file and --question exclude each other' "${answer[@]}" --file "$work/dev.json" --question q
expect 2 '--context' "${answer[@]}" --question q
expect 1 '--question: ' "${answer[@]}" --question $'\377' --context c
expect 1 '--context: ' "${answer[@]}" --question q --context $'\377'
# As many subtokens, in another order.
given=$data/vocab.answers.200
{ head -n 2 "$given" && tail -n +3 "$given" | tac; } >"$work/other.vocab"
expect 2 "$work/other.vocab has other subtokens than $work/model/vocab.subtokens, which" "${answer[@]}" --vocab_file "$work/other.vocab" --question q --context c
expect 2 'which the records are of' "$tenon" train "${reader[@]}" --vocab_file "$work/other.vocab" --train_steps 1
expect 2 '--output is for' "${answer[@]}" --question q --context c --output "$work/no"
expect 2 '--n_best is for --json' "${answer[@]}" --question q --context c --n_best 2
expect 2 'does not answer questions' "$tenon" answer transformer --question q --context c
expect 2 'tells no classes' "$tenon" predict --model_dir "$work/model" --data_dir "$data" --device cpu
awk 'length > 4 && NR > 2 && !cut { cut = 1; next } { print }' "$data/vocab.answers.200" >"$work/vocab.less"
expect 2 'subtokens, expected' "${answer[@]}" --question q --context c --vocab_file "$work/vocab.less"
finish
