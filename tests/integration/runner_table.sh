#!/bin/bash
# Tables: from CSV to predictions, on every device; and what is refused.
#   runner_table.sh TENON
. "$(dirname "$0")/runner_lib.sh"
# What is to be found: a class that depends on a number and on a category, some of which are missing.
rows() {
  perl -e '
    my ($n, $state) = @ARGV;
    print "width,colour,shape,kind\n";
    my @colours = ("red", "blue", "green", "");
    for (1 .. $n) {
      $state = ($state * 1103515245 + 12345) & 0x7fffffff;
      my $r = $state >> 8;
      my $width = ($r % 1000) / 10;
      my $colour = $colours[($r >> 10) % 4];
      my $kind = $colour eq "red" ? "hot" : $width > 50 ? "wide" : "narrow";
      print(($r >> 12) % 20 ? $width : "NA", ",$colour,", $r % 7, ",$kind\n");
    }' "$1" "$2"
}
rows 3000 1 >"$work/train.csv"
rows 200 77 >"$work/new.csv"
convert=("$tenon" convert table --label kind --categories shape)
for threads in 1 4; do
  expect 0 '' "${convert[@]}" --input "$work/train.csv" --output "$work/data.$threads" --threads $threads
done
grep -q '^train: 2,700 records in 1 file' "$work/out" && grep -q '^3 classes' "$work/out" || complain "summary: $(cat "$work/out")"
[ "$(cat "$work"/data.1/* | cksum)" = "$(cat "$work"/data.4/* | cksum)" ] || complain 'one thread and four give other bytes'
data=$work/data.1

echo '# the same losses on each device, and a model that has learnt'
train=("$tenon" train table --data_dir "$data" --json)
for device in cpu opencl-gpu tpu-emulator:v2-8,dots=f32; do
  "${train[@]}" --device "$device" --train_steps 8 --noevaluate >"$work/out" 2>"$work/err" || complain "training on $device: $(cat "$work/err")"
  loss=$(result loss)
  [ $device = cpu ] && first=$loss
  awk -v a="$first" -v b="$loss" 'BEGIN { exit a > 0.1 && (a - b) ^ 2 < (1e-4 * a) ^ 2 ? 0 : 1 }' || complain "loss on $device: $loss, on cpu $first"
done
expect 0 '' "${train[@]}" --device cpu --train_steps 600 --learning_rate 0.005 --model_dir "$work/model"
awk -v a="$(result accuracy)" 'BEGIN { exit a > 0.93 ? 0 : 1 }' || complain "accuracy: $(tail -n 1 "$work/out")"
accuracy=$(result accuracy)
expect 0 '' "$tenon" evaluate table --data_dir "$data" --model_dir "$work/model" --device cpu --json
[ "$(result accuracy)" = "$accuracy" ] || complain "evaluate says $(result accuracy), training $accuracy"
expect 0 '' "$tenon" inspect model table --data_dir "$data"

echo '# other rows of the same table'
expect 0 '' "$tenon" convert table --like "$data" --input "$work/new.csv" --output "$work/new"
expect 0 '' "$tenon" predict table --model_dir "$work/model" --data_dir "$work/new" --device cpu --output "$work/new.out.csv"
[ "$(head -n 1 "$work/new.out.csv")" = 'row,classid,class,probability_hot,probability_narrow,probability_wide' ] || complain "header: $(head -n 1 "$work/new.out.csv")"
paste -d , <(tail -n +2 "$work/new.csv" | cut -d , -f 4) <(tail -n +2 "$work/new.out.csv" | cut -d , -f 3) |
  awk -F , '$1 == $2 { ++right } END { exit right > 180 ? 0 : 1 }' || complain 'predictions are not those of the rows'

echo '# what is refused'
expect 0 '' "${convert[@]}" --input "$work/new.csv" --output "$work/others"
expect 2 "$work/others/info.json has other columns than those that $work/model/model.json remembers" \
  "$tenon" evaluate table --data_dir "$work/others" --model_dir "$work/model"
expect 2 "has no records of a table" "$tenon" train table --data_dir "$work" --train_steps 1
{ cat "$work/new.csv" && echo 'wide,red,1,hot'; } >"$work/bad.csv"
expect 1 "$work/bad.csv:202: column 'width': expected a number, found 'wide'" "${convert[@]}" --numbers width --input "$work/bad.csv" --output "$work/none"
echo 'red,1' >>"$work/bad.csv"
expect 1 "$work/bad.csv:203: expected 4 fields as the header has, found 2" "${convert[@]}" --numbers width --input "$work/bad.csv" --output "$work/none"
expect 0 '' "${convert[@]}" --numbers width --input "$work/bad.csv" --output "$work/rest" --skip_bad_rows
grep -q "^train: left out 2 (bad rows), the first $work/bad.csv:203: expected 4 fields" "$work/out" || complain "left out: $(cat "$work/out")"
expect 0 '' "$tenon" convert table --like "$data" --input "$work/bad.csv" --output "$work/like" --skip_bad_rows --json
[ "$(grep -o '"bad_rows": [0-9]*' "$work/out")" = '"bad_rows": 2' ] || complain "--like: $(cat "$work/out")"
echo '1e200,red,1,hot' >>"$work/bad.csv"
expect 0 '' "${convert[@]}" --numbers width --input "$work/bad.csv" --output "$work/rest" --overwrite --skip_bad_rows --json
[ "$(grep -o '"bad_rows": [0-9]*' "$work/out" | head -n 1)" = '"bad_rows": 3' ] || complain "beyond f32: $(cat "$work/out")"
cp -r "$data" "$work/twice"
echo hot >>"$work/twice/labels.txt"
expect 1 "$work/twice/labels.txt:4: class 'hot' is there already, on line 1" "$tenon" evaluate table --model_dir "$work/model" --data_dir "$work/twice"
expect 1 "no column 'size'; it has width, colour, shape, kind" "${convert[@]}" --ignore size --input "$work/new.csv" --output "$work/none"
expect 2 '--like and --label exclude each other' "${convert[@]}" --like "$data" --input "$work/new.csv" --output "$work/none"
expect 2 '--label is missing' "$tenon" convert table --input "$work/new.csv" --output "$work/none"
expect 1 "$work/model/info.json" "$tenon" convert table --like "$work/model" --input "$work/new.csv" --output "$work/none"
expect 2 'this model takes rows of a table' "$tenon" predict table --model_dir "$work/model" "$work/none.png"
[ ! -e "$work/none" ] || complain 'an error left a directory'
finish
