#!/bin/bash
# Models of tokens in ONNX files by the runner: scores of classes, an answer's start and end, the next token; forecast, timed, trained; what
# is refused.
#   runner_onnx_tokens.sh TENON
. "$(dirname "$0")/runner_lib.sh"
cases=$(cd "$(dirname "$0")/../fixtures/onnx" && pwd)
cd "$work" || exit 1
for name in classes span next; do cp "$cases/tokens_$name/model.onnx" $name.onnx; done

# TFRecords of examples: lines of NAME=N,N.. NAME=N on standard input.
write_records() {
  perl -e '
    my @table = map { my $c = $_; $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8; $c } 0 .. 255;
    sub masked { my $c = 0xffffffff; $c = $table[($c ^ $_) & 255] ^ ($c >> 8) for unpack("C*", $_[0]); $c ^= 0xffffffff;
                 pack("V", ((($c >> 15) | ($c << 17)) + 0xa282ead8) & 0xffffffff) }
    sub varint { my ($n, $out) = ($_[0], ""); while ($n > 127) { $out .= chr($n & 127 | 128); $n >>= 7 } $out . chr($n) }
    sub field { chr($_[0] << 3 | 2) . varint(length $_[1]) . $_[1] }
    binmode STDOUT;
    while (my $line = <STDIN>) {
      chomp $line;
      my $features = join "", map { my ($name, $list) = split /=/;
        field(1, field(1, $name) . field(2, field(3, field(1, join "", map { varint($_) } split /,/, $list)))) } split / /, $line;
      my $record = field(1, $features);
      my $length = pack("VV", length $record, 0);
      print $length, masked($length), $record, masked($record);
    }'
}

echo '# scores of classes: those of ONNX Runtime'
mkdir ids
echo '{"kind": "ids", "max_length": 16}' >ids/info.json
cat >rows <<'ROWS'
input_ids=101,97,113,84,82,9,36,113,34,13,29,159,105,131,5,155 attention_mask=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 token_type_ids=0,0,0,0,1,1,1,1,1,1,1,1,1,1,1,1 label=0
input_ids=141,29,151,48,41,141,141,2,18,158,117,0,0,0,0,0 attention_mask=1,1,1,1,1,1,1,1,1,1,1,0,0,0,0,0 token_type_ids=0,0,0,0,1,1,1,1,1,1,1,0,0,0,0,0 label=0
ids=118,1,102,34,134,35,0,0,0,0,0,0,0,0,0,0 input_mask=1,1,1,1,1,1,0,0,0,0,0,0,0,0,0,0 segment_ids=0,0,0,0,1,1,0,0,0,0,0,0,0,0,0,0 label_ids=2
ROWS
write_records <rows >ids/validation-00000-of-00001
expect 0 '' "$tenon" predict classes.onnx --data_dir ids --device cpu --output found.csv
cat >expected <<'EXPECTED'
0.222316,0.493076,0.284607
0.246860,0.517582,0.235557
0.196182,0.476067,0.327751
EXPECTED
awk -F, 'NR == FNR { for (i = 1; i <= NF; ++i) e[FNR, i] = $i; rows = FNR; next }
         FNR > 1 { for (i = 1; i <= 3; ++i) if (($(3 + i) - e[FNR - 1, i]) ^ 2 > 1e-10) exit 1 } END { if (FNR != rows + 1) exit 1 }' expected found.csv ||
  complain "predictions: $(cat found.csv)"

echo '# trained: the third id says the class'
for i in $(seq 0 191); do
  c=$((i % 3))
  echo "input_ids=2,$((5 + i * 7 % 100)),$((110 + c)),$((5 + i * 11 % 100)) label=$c"
done >rows
write_records <rows >ids/train-00000-of-00001
head -n 48 rows | write_records >ids/validation-00000-of-00001
expect 0 '' "$tenon" train classes.onnx --data_dir ids --model_dir tuned --device cpu --train_steps 150 --learning_rate 0.01 --quiet
expect 0 '' "$tenon" evaluate --model_dir tuned --data_dir ids --device cpu --json
grep -q '"accuracy": 1,' out || complain "trained: $(cat out)"
expect 0 '' "$tenon" train classes.onnx --data_dir ids --model_dir head --device cpu --train_steps 2 --replace_head 5 --freeze words --quiet
expect 0 '' "$tenon" train classes.onnx --data_dir ids --model_dir slow --device cpu --train_steps 2 --quiet --optimizer sgd \
  --learning_rate 0.1 --learning_rate_multiplier 'head=0' --learning_rate_multiplier '.=0.5'
expect 0 '' "$tenon" inspect checkpoint slow --values head.bias
cp out kept
expect 0 '' "$tenon" train classes.onnx --data_dir ids --model_dir first --device cpu --train_steps 1 --quiet --optimizer sgd --learning_rate 0
expect 0 '' "$tenon" inspect checkpoint first --values head.bias
cmp -s out kept || complain "what learns at 0 times the rate has moved: $(cat kept), $(cat out)"

echo '# the next token'
for i in $(seq 300); do echo "The number is $((i * 7 % 400))."; done >lines
expect 0 '' "$tenon" convert text --input lines --output text --vocab_size 80 --max_length 16 --dev_fraction 0.1
expect 0 '' "$tenon" train next.onnx --data_dir text --model_dir writes --device cpu --train_steps 60 --learning_rate 0.01 --quiet
expect 0 '' "$tenon" evaluate --model_dir writes --data_dir text --device cpu --json
awk -F'"accuracy": ' 'NF > 1 { split($2, a, ","); exit !(a[1] > 0.2) }' out || complain "next token: $(cat out)"

echo '# answers'
awk 'BEGIN {
  printf "{\"data\": [{\"paragraphs\": ["
  for (i = 0; i < 100; ++i)
    printf "%s{\"context\": \"It is n%d.\", \"qas\": [{\"id\": \"%d\", \"question\": \"Name?\", \"answers\": [{\"text\": \"n%d\", \"answer_start\": 6}]}]}", i ? ", " : "", i, i, i
  print "]}]}" }' >train.json
expect 0 '' "$tenon" convert answers --train train.json --dev train.json --output questions --vocab_size 80 --max_length 16
expect 0 '' "$tenon" train span.onnx --data_dir questions --model_dir answers --device cpu --train_steps 5 --quiet
expect 0 '' "$tenon" evaluate --model_dir answers --data_dir questions --device cpu --json
grep -q '"accuracy_start"' out || complain "answers: $(cat out)"

echo '# forecast and timed'
for name in classes span next; do
  expect 0 '' "$tenon" preflight $name.onnx --tpu v3-8 --max_length 16 --json
  grep -q '"verdict": "accepted"' out || complain "preflight $name: $(cut -c1-300 out)"
done
for length in 8 16; do  # by the file's own name for it
  expect 0 '' "$tenon" preflight classes.onnx --tpu v3-8 --max_length $length --json
  cp out forecast
  expect 0 '' "$tenon" preflight classes.onnx --tpu v3-8 --dim sequence=$length --json
  cmp -s out forecast || complain "preflight --dim sequence=$length: $(cut -c1-300 out)"
done
expect 0 '' "$tenon" train classes.onnx --synthetic --dim sequence=8 --model_dir sized --device cpu --train_steps 1 --quiet
expect 0 '' "$tenon" evaluate --model_dir sized --synthetic --num_eval_examples 8 --device cpu  # the directory remembers it
expect 1 "is i32[32,16], expected i64[batch,8]" "$tenon" train classes.onnx --synthetic --dim sequence=8 --max_length 16 --device cpu --train_steps 1
for mode in train predict; do
  for name in classes span next; do
    expect 0 '' "$tenon" bench step $name.onnx --dim sequence=16 --mode $mode --device cpu --rounds 1 --steps 1 --batch_size 4 --json
  done
done

for name in classes span next; do  # the 16 places of the file's table
  expect 0 '' "$tenon" bench step $name.onnx --device cpu --rounds 1 --steps 1 --batch_size 4 --json
done

echo '# exported again: places in the whole batch, as the masks of transformers count them'
for length in 2 8 32 16; do
  rm -rf again.*
  for format in saved_model onnx tenon; do
    expect 0 '' "$tenon" import "$cases/tokens_places/model.onnx" --output "again.$format" --format $format --dim sequence=$length --device cpu
  done
done
expect 0 '' "$tenon" run again.onnx --data "$cases/tokens_places" --device cpu
expect 0 '' "$tenon" train "$cases/tokens_places/model.onnx" --data_dir ids --model_dir placed --device cpu --train_steps 2 --quiet
for format in saved_model onnx tenon; do
  expect 0 '' "$tenon" export --model_dir placed --format $format --output "placed.$format" --device cpu
done

echo '# mistakes'
expect 1 'shapes [32,128,8] and [1,16,8] do not broadcast' "$tenon" train classes.onnx --synthetic --max_length 128 --device cpu --train_steps 1
expect 1 'it knows 160 tokens, and the data have 200' "$tenon" train next.onnx --synthetic --max_length 16 --vocab_size 200 --device cpu --train_steps 1
expect 1 'replace_head is for scores of classes' "$tenon" train next.onnx --synthetic --max_length 16 --replace_head 3 --device cpu --train_steps 1
expect 2 "takes ids of tokens with a class each, and 'text' holds text" "$tenon" train classes.onnx --data_dir text --device cpu
echo 'input_ids=2,999 label=0' | write_records >ids/train-00000-of-00001
expect 1 'input_ids: number 1 is 999, expected 0 to 159' "$tenon" train classes.onnx --data_dir ids --device cpu --train_steps 1 --train_batch_size 1
echo 'input_ids=2,9 label=3' | write_records >ids/train-00000-of-00001
expect 1 'label: number 0 is 3, expected 0 to 2' "$tenon" train classes.onnx --data_dir ids --device cpu --train_steps 1 --train_batch_size 1
echo 'words=2,9 label=0' | write_records >ids/train-00000-of-00001
expect 1 'input_ids: expected a list of int64, found none' "$tenon" train classes.onnx --data_dir ids --device cpu --train_steps 1 --train_batch_size 1
expect 2 "--learning_rate_multiplier: 'head', expected REGEX=FACTOR" "$tenon" train classes.onnx --synthetic --device cpu --learning_rate_multiplier head
finish
