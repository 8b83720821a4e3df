#!/bin/bash
# Parallel text to records, and scores: the same bytes whatever the threads and the kind of file, whole or not at all when killed or
# the disk is full, and bad text told of.
#   runner_translation.sh TENON IO_SHIM.so, both as absolute paths
. "$(dirname "$0")/runner_lib.sh"
shim=$2
# Two files of $2 sentences, drawn from seed $3.
make_text() {
  perl -e '
    binmode(STDOUT, ":utf8");
    my ($path, $n, $state) = @ARGV;
    sub draw { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return ($state >> 8) % $_[0] }
    my @words = map { join("", map { (qw(an be der ge in ung), "\x{fc}", "\x{df}", "x", "7")[draw(10)] } 0 .. draw(4)) } 1 .. 400;
    my %out;
    for my $side ("en", "de") { open($out{$side}, ">:utf8", "$path.$side") or die }
    for (1 .. $n) {
      for my $side ("en", "de") { print { $out{$side} } join(" ", map { $words[draw(1 + draw(400))] } 0 .. 3 + draw(12)), ".\n" }
    }' "$1" "$2" "$3"
}
make_text "$work/new" 3000 1
make_text "$work/old" 300 2
convert=("$tenon" convert translation --vocab_size 500 --train_shards 4)
new=(--source "$work/new.en" --target "$work/new.de")
contents() { (cd "$1" 2>/dev/null && find . -type f ! -path '*/.*' -exec cksum {} + | sort); }
records() { sed -n "s/.*\"$2\": {\"records\": \([0-9]*\).*/\1/p" "$1/info.json"; }

echo '# what is written'
expect 0 '' "${convert[@]}" "${new[@]}" --output "$work/one" --threads 1
expect 0 '' "${convert[@]}" "${new[@]}" --output "$work/four" --threads 4
[ "$(contents "$work/one")" = "$(contents "$work/four")" ] || complain 'one thread and four give other bytes'
expected='info.json vocab.ende.500 wmt32k-dev-00001-of-00001 wmt32k-train-00001-of-00004 wmt32k-train-00002-of-00004'
expected+=' wmt32k-train-00003-of-00004 wmt32k-train-00004-of-00004'
[ "$(cd "$work/one" && echo *)" = "$expected" ] || complain "files: $(cd "$work/one" && echo *)"
train=$(records "$work/one" train) dev=$(records "$work/one" dev)
[ $((train + dev)) -eq 3000 ] && [ "$dev" -gt 10 ] && [ "$dev" -lt 60 ] || complain "$train records, $dev of them held out"
"$tenon" inspect records "$work"/one/wmt32k-train-* --json >"$work/out" || complain 'the records cannot be read'
grep -q '"inputs"' "$work/out" && grep -q '"targets"' "$work/out" || complain "the records' fields: $(cat "$work/out")"

echo '# the same pairs from other files, and with the vocabulary that is there'
paste "$work/new.en" "$work/new.de" >"$work/new.tsv"
perl -pe 's/\n/\r\n/' "$work/new.de" >"$work/crlf.de"
expect 0 '' "${convert[@]}" --pairs "$work/new.tsv" --output "$work/tsv"
expect 0 '' "${convert[@]}" --source "$work/new.en" --target "$work/crlf.de" --output "$work/crlf"
expect 0 '' "$tenon" convert translation --train_shards 4 "${new[@]}" --output "$work/given" --vocab_file "$work/one/vocab.ende.500"
for other in tsv crlf given; do
  [ "$(contents "$work/one")" = "$(contents "$work/$other")" ] || complain "$other: other bytes"
done
expect 0 '' "${convert[@]}" "${new[@]}" --dev_source "$work/old.en" --dev_target "$work/old.de" --output "$work/dev"
[ "$(records "$work/dev" train) $(records "$work/dev" dev)" = '3000 300' ] || complain "dev files: $(cat "$work/dev/info.json")"
expect 0 '' "${convert[@]}" "${new[@]}" --max_length 12 --output "$work/short" --json
grep -q '"too_long": [1-9]' "$work/out" || complain "--max_length left out nothing: $(cat "$work/out")"

echo '# bad text'
head -n 2999 "$work/new.de" >"$work/less.de"
expect 1 "$work/new.en:3000: a line without one in the other file" "${convert[@]}" --source "$work/new.en" --target "$work/less.de" --output "$work/no"
[ ! -e "$work/no" ] || complain 'an error left a directory'
{ printf 'bad \377\n\n'; tail -n +3 "$work/new.en"; } >"$work/bad.en"
expect 0 '' "${convert[@]}" --source "$work/bad.en" --target "$work/new.de" --output "$work/bad"
grep -qF "left out 1 (not utf8), the first $work/bad.en:1" "$work/out" && grep -qF "left out 1 (empty), the first $work/bad.en:2" "$work/out" ||
  complain "bad lines: $(cat "$work/out")"
printf '\336\022\004\225' >"$work/cut.mo"
expect 1 "$work/cut.mo: too short" "${convert[@]}" --pairs "$work/cut.mo" --output "$work/no"
echo '<tmx><body>' >"$work/cut.tmx"
expect 1 "$work/cut.tmx:" "${convert[@]}" --pairs "$work/cut.tmx" --output "$work/no"
printf '<tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu></body></tmx>' >"$work/ok.tmx"
expect 1 "$work/ok.tmx: expected texts of language 'fr', found those of de, en" "${convert[@]}" --pairs "$work/ok.tmx" --source_language fr --output "$work/no"
{ printf 'no tab\n\nnul\0byte\tx\n' && cat "$work/new.tsv"; } >"$work/bad.tsv"
expect 0 '' "${convert[@]}" --pairs "$work/bad.tsv" --output "$work/bad.tabs"
grep -qF "left out 1 (no tab), the first $work/bad.tsv:1" "$work/out" && grep -qF "left out 1 (empty), the first $work/bad.tsv:2" "$work/out" &&
  grep -qF "left out 1 (nul byte), the first $work/bad.tsv:3" "$work/out" || complain "bad lines of a table: $(cat "$work/out")"
[ $(($(records "$work/bad.tabs" train) + $(records "$work/bad.tabs" dev))) -eq 3000 ] || complain "good lines of a table: $(cat "$work/out")"
expect 2 'expected a file of pairs whose name ends with' "${convert[@]}" --pairs "$work/new.en" --output "$work/no"
expect 2 '--target is missing' "${convert[@]}" --source "$work/new.en" --output "$work/no"
expect 2 '--source is missing' "${convert[@]}" --target "$work/new.de" --output "$work/no"
expect 2 '--dev_target is missing' "${convert[@]}" "${new[@]}" --dev_source "$work/old.en" --output "$work/no"
expect 2 '--source has 2 files and --target has 1, expected one for each' \
  "${convert[@]}" --source "$work/new.en,$work/old.en" --target "$work/new.de" --output "$work/no"
expect 2 "--target_language is '../x', expected one like en" "${convert[@]}" "${new[@]}" --target_language ../x --output "$work/no"
expect 1 "$work/new.en:1: expected a subtoken between single quotes" "$tenon" convert translation "${new[@]}" --vocab_file "$work/new.en" --output "$work/no"
expect 2 'expected --source and --target, or --pairs' "${convert[@]}" --output "$work/no"
expect 2 '--vocab_size and --vocab_file exclude each other' "${convert[@]}" "${new[@]}" --vocab_file v --output "$work/no"
[ ! -e "$work/no" ] || complain 'an error left a directory'

echo '# what is there already'
expect 1 'expected no records' "${convert[@]}" "${new[@]}" --output "$work/one"
mkdir "$work/own" && echo "'mine'" >"$work/own/vocab.ende.500"
expect 1 'expected no other vocabulary' "${convert[@]}" "${new[@]}" --output "$work/own"
[ "$(cat "$work/own/vocab.ende.500")" = "'mine'" ] || complain 'a vocabulary was lost'

echo '# killed before each call, each call fails, the disk is full'
data=$work/data/dir
attempt() {  # PLAN..
  rm -rf "$work/data" && mkdir -p "$work/data" && cp -r "$work/before" "$data"
  # The shell tells of kills: not here.
  { (IO_SHIM="$*" IO_SHIM_COUNT=$work/count LD_PRELOAD=$shim "${convert[@]}" "${new[@]}" --output "$data" --overwrite --threads 1) \
    >"$work/out" 2>"$work/err"; } 2>/dev/null
  code=$?
}
expect 0 '' "${convert[@]}" --source "$work/old.en" --target "$work/old.de" --output "$work/before"
before=$(contents "$work/before")
attempt count 0
after=$(contents "$data") calls=$(cat "$work/count")
[ "$code" -eq 0 ] && [ "$after" = "$(contents "$work/one")" ] || complain "exit code $code: $(cat "$work/err")"
[ "$calls" -gt 40 ] || complain "counted only $calls calls"
for ((n = 0; n < calls; n++)); do
  attempt kill $n
  found=$(contents "$data")
  [ "$found" = "$before" ] || [ "$found" = "$after" ] || complain "killed at call $n of $calls: neither old nor new: $(ls -A "$data")"
  if [ $((n % 8)) -eq 0 ]; then
    expect 0 '' "${convert[@]}" "${new[@]}" --output "$data" --overwrite
    [ "$(contents "$data")" = "$after" ] || complain "after a kill at call $n: not the new data"
    [ -z "$(find "$work/data" -mindepth 1 -name '.*')" ] || complain "after a kill at call $n: left $(find "$work/data" -name '.*')"
  fi
  attempt "$([ $((n % 2)) -eq 0 ] && echo "fail $n 5" || echo "fill $n 28")"
  found=$(contents "$data")
  [ "$code" -eq 0 ] || [ "$(wc -l <"$work/err")" -eq 1 ] || complain "call $n fails: expected one line, found $(cat "$work/err")"
  [ "$found" = "$before" ] || [ "$found" = "$after" ] || complain "call $n fails: neither old nor new: $(ls -A "$data")"
done
echo "$calls kills"

echo '# scores'
printf 'The cat sat.\r\nA dog ran home\n\n' >"$work/reference"
printf 'the cat sat.\nA dog ran\n\n' >"$work/hypothesis"
score=("$tenon" score --reference "$work/reference" --hypothesis)
expect 0 '' "${score[@]}" "$work/reference" --json
grep -q '"bleu_uncased": 100, "bleu_cased": 100, "sacrebleu": 100, ' "$work/out" || complain "score: $(cat "$work/out")"
# sacrebleu 2.4.3
expect 0 '' "${score[@]}" "$work/hypothesis" --json
grep -q '"sacrebleu": 59.939541538' "$work/out" || complain "score: $(cat "$work/out")"
expect 0 '' "${score[@]}" "$work/hypothesis"
expect 0 '' "${score[@]}" "$work/hypothesis" --metric rouge_l
printf 'red\tblue\nthe green\n' >"$work/reference" && printf 'Blue.\nyellow\n' >"$work/hypothesis"
expect 0 '' "${score[@]}" "$work/hypothesis" --metric answer --json
grep -q '"exact_match": 50, "f1": 50, ' "$work/out" || complain "score of answers: $(cat "$work/out")"
printf 'one\n' >"$work/one.txt"
expect 1 "$work/reference, $work/one.txt: there are 2 references and 1 hypotheses" "${score[@]}" "$work/one.txt"
printf 'a\n\377\n' >"$work/bad.txt"
expect 1 'hypothesis 2: text is no UTF-8' "${score[@]}" "$work/bad.txt"
expect 2 '--hypothesis' "$tenon" score --reference "$work/reference"
finish
