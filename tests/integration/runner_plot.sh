#!/bin/bash
# Pictures of runs and of predictions: what is drawn is what was measured; mistakes are one line.
#   runner_plot.sh TENON
. "$(dirname "$0")/runner_lib.sh"
cd "$work" || exit 1
blue='rgb(0%,44.7%,69.8%)' orange='rgb(83.5%,36.9%,0%)'

# The heights of the points of a curve in a picture, downwards from the top: of the lines of its colour, those of three points or more.
heights() {
  grep -F "stroke:$2;" "$1" | grep -o ' d="[^"]*"' | grep 'L.*L' | sed 's/ d="M //; s/"//; s/ L /\n/g' |
    awk '/^[ ]*[-0-9]/ { print $2 }'
}
# same_shape FILE COLOUR VALUE..: the points lie as the values do: of equal scale, whatever the axis.
same_shape() {
  local file=$1 colour=$2
  shift 2
  heights "$file" "$colour" | tr '\n' ' ' >heights
  echo "$@" | awk -v found="$(cat heights)" '{
    n = split(found, y, " ")
    if (n < NF) { print "found " n " points, expected " NF; exit 1 }
    scale = (y[NF] - y[1]) / ($NF - $1)
    for (i = 1; i <= NF; ++i) if ((y[i] - y[1] - scale * ($i - $1)) ^ 2 > 0.01) { print "point " i " lies at " y[i]; exit 1 }
    if (scale >= 0) { print "more is lower"; exit 1 } }' || complain "$file: $colour is not $*: $(cat heights)"
}

echo '# learning curves of a CSV'
cat >run.csv <<'END'
epoch,accuracy,loss,val_accuracy,val_loss
0,0.5,1.6,NA,NA
1,0.7,0.8,0.6,1.2
2,0.8,0.5,0.75,1.0
3,0.9,0.3,0.7,0.9
END
sed -i 's/$/\r/' run.csv  # as CSVLogger ends lines
expect 0 '' "$tenon" plot run.csv --tags loss --output loss.svg --json
[ "$(result tags)" = loss ] || complain "tags: $(cat "$work/out")"
same_shape loss.svg "$blue" 1.6 0.8 0.5 0.3
same_shape loss.svg "$orange" 1.2 1.0 0.9
grep -q '</svg>' loss.svg || complain 'loss.svg is not whole'

# TensorBoard's smoothing: last = w last + (1 - w) v, divided by 1 - w^n.
expect 0 '' "$tenon" plot curves run.csv --tags epoch_loss --smoothing 0.6 --output smooth.svg
grep -F "stroke:$blue;stroke-opacity:1" smooth.svg >solid.svg
same_shape solid.svg "$blue" $(echo 1.6 0.8 0.5 0.3 | awk '{ for (i = 1; i <= NF; ++i) { last = 0.6 * last + 0.4 * $i; printf "%.6f ", last / (1 - 0.6 ^ i) } }')
expect 0 '' "$tenon" plot run.csv --tags loss --log_scale --output log.svg
same_shape log.svg "$blue" $(echo 1.6 0.8 0.5 0.3 | awk '{ for (i = 1; i <= NF; ++i) printf "%.6f ", log($i) }')

# A PNG is of twice the size unless --scale says.
expect 0 '' "$tenon" plot run.csv --output run.png --width 500 --height 400
size() { od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4 "x" $7 * 256 + $8 }'; }
[ "$(size run.png)" = 1000x800 ] || complain "run.png is of $(size run.png), expected 1000x800"
expect 0 '' "$tenon" plot run.csv --output run.png --width 500 --height 400 --scale 1
[ "$(size run.png)" = 500x400 ] || complain "run.png is of $(size run.png), expected 500x400"

echo '# runs of tenon train'
make_idx idx 256 70
"$tenon" convert idx --input idx --output data >/dev/null
mlp=(mlp --hidden 16 --data_dir data)
for seed in 1 2; do
  "$tenon" train "${mlp[@]}" --model_dir "runs/seed$seed" --seed $seed --device cpu --train_batch_size 16 --train_steps 40 --steps_between_evals 20 \
    --save_summary_steps 5 --histograms >/dev/null || complain 'training failed'
done
expect 0 '' "$tenon" plot runs/seed1 runs/seed2 --output both.svg --json
[ "$(result runs)" = 2 ] || complain "runs: $(cat "$work/out")"
expect 0 '' "$tenon" plot runs --output all.svg --json
[ "$(result runs)" = 2 ] || complain "the runs of a directory: $(cat "$work/out")"
cmp -s both.svg all.svg || complain 'a directory of runs gives another picture than its runs'
expect 0 '' "$tenon" plot runs/seed1 --output again.svg --title "A <title> & more"
# 256 examples in batches of 16 are 16 steps: 40 steps are two epochs.
expect 0 '' "$tenon" plot epochs runs --output epochs.svg --json
grep -q '^{"event": "run", "run": "seed1", "device": "cpu", "epochs": 2, ' "$work/out" || complain "epochs: $(cat "$work/out")"
expect 0 '' "$tenon" plot epochs runs
grep -q '^seed2  cpu  *2 ' "$work/out" || complain "the table: $(cat "$work/out")"

# 32 examples are two steps: eight epochs, of which the device does several at once.
make_idx small 32 8
"$tenon" convert idx --input small --output few >/dev/null
"$tenon" train mlp --hidden 16 --data_dir few --model_dir short --device cpu --train_batch_size 16 --train_steps 16 --iterations_per_loop 4 \
  --save_summary_steps 4 >/dev/null || complain 'training failed'
expect 0 '' "$tenon" plot epochs short --json
[ "$(grep -o "\"epochs\": [0-9]*" "$work/out")" = "\"epochs\": 8" ] || complain "epochs: $(cat "$work/out")"

echo '# predictions'
printf 'zero\none\ntwo\nthree\n' >data/labels.txt
predict=("$tenon" predict "${mlp[@]}" --model_dir runs/seed1 --device cpu)
expect 0 '' "${predict[@]}" --labels --pr_curves --output p.csv
head -n 1 p.csv | grep -q '^row,classid,class,labelid,label,probability_zero,' || complain "p.csv: $(head -n 1 p.csv)"
# Image i is of class i % 4.
awk -F, 'NR > 1 && $4 != $1 % 4 { exit 1 }' p.csv || complain 'the labels are not those of the records'
[ "$(tail -n +2 p.csv | wc -l)" = 70 ] || complain "p.csv has $(wc -l <p.csv) lines"
expect 0 '' "$tenon" plot confusion p.csv --output confusion.svg --json
right=$(awk -F, 'NR > 1 && $2 == $4' p.csv | wc -l)
[ "$(result examples) $(result right)" = "70 $right" ] || complain "confusion: $(cat "$work/out"), expected 70, $right"
expect 0 '' "$tenon" plot wrong p.csv --data_dir data --output wrong.png --count 5 --json
[ "$(result wrong)" = $((70 - right)) ] || complain "wrong: $(cat "$work/out"), expected $((70 - right))"
# One that is wrong: a sheet of one image.
printf 'row,classid,class,labelid,label,probability_a,probability_b,probability_c,probability_d\n2,0,a,2,c,0.7,0.1,0.1,0.1\n' >one.csv
expect 0 '' "$tenon" plot wrong one.csv --data_dir data --output one.png --scale 1
[ "$(size one.png)" != 0x0 ] || complain 'one.png is no picture'

echo '# mistakes'
expect 2 'expected RUN.. --output F.png|F.svg' "$tenon" plot --output a.png
expect 2 "--output is 'a.pdf', expected a name that ends with .png or .svg" "$tenon" plot run.csv --output a.pdf
expect 1 "no run 'nowhere': expected a directory, or a CSV of CSVLogger" "$tenon" plot nowhere --output a.png
mkdir empty
expect 1 "'empty' has no scalars for TensorBoard" "$tenon" plot empty --output a.png
expect 2 "--tags: the runs have no 'los'; they have loss, accuracy" "$tenon" plot run.csv --tags los --output a.png
expect 1 "p.csv: expected a first column 'epoch'" "$tenon" plot p.csv --output a.png
printf 'epoch,loss\n' >header.csv
expect 1 'header.csv: expected a row for each epoch, found none' "$tenon" plot header.csv --output a.png
printf 'epoch,loss\n0,"1\n1,2\n' >open.csv
expect 1 'open.csv:2: expected a closing quote, found the end of the file' "$tenon" plot open.csv --output a.png
printf 'epoch,loss\n0,"1"x\n1,2\n' >behind.csv
expect 1 "behind.csv:2: expected a comma or the end of the line after a closing quote, found 'x'" "$tenon" plot behind.csv --output a.png
printf 'epoch,a"b\377\n0,1\n1,2\n' >named.csv
expect 0 '' "$tenon" plot named.csv --output named.png --title $'\377'
[ ! -s "$work/err" ] || complain "names that are no UTF-8: $(cat "$work/err")"
expect 1 "'run.csv' has no epoch_seconds, which the TensorBoard callback" "$tenon" plot epochs run.csv
"${predict[@]}" --output unlabelled.csv >/dev/null
expect 1 "unlabelled.csv: no column 'labelid', the true classes; \`tenon predict --labels\` writes them" \
  "$tenon" plot confusion unlabelled.csv --output a.png
sed '3s/^[^,]*,[^,]*/1,9/' p.csv >bad.csv
expect 1 'bad.csv: row 2: class 9, expected 0 to 3' "$tenon" plot confusion bad.csv --output a.png
sed '3s/,[^,]*$//' p.csv >short.csv
expect 1 'short.csv:3: 8 fields, expected 9 as in the first line' "$tenon" plot confusion short.csv --output a.png
sed '2s/^2,/900,/' one.csv >far.csv
expect 1 'the records have no row 900: they are not those that were predicted' "$tenon" plot wrong far.csv --data_dir data --output a.png
expect 2 '--count is of `tenon plot wrong`' "$tenon" plot run.csv --count 3 --output a.png
expect 2 '--histograms needs --save_summary_steps N and --model_dir DIR' "$tenon" train "${mlp[@]}" --histograms
[ ! -e a.png ] || complain 'a mistake left a picture'
expect 1 '' "$tenon" plot run.csv --output nowhere/a.png

echo '# without the library that draws'
mkdir -p alone/bin
cp "$tenon" alone/bin/
expect 1 'pictures need lib/tenon/pictures/cairo.so, which the package tenon-pictures brings' alone/bin/tenon plot run.csv --output a.png
expect 0 '' alone/bin/tenon plot epochs runs
finish
