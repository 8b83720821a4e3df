#!/bin/bash
# The example Plant Pathology: what it leaves is what `tenon plot` draws; bad data are one line, and training goes on where it was asked to.
#   plant_pathology.sh TENON EXAMPLE SOURCE
. "$(dirname "$0")/runner_lib.sh"
example=$2 source=$3
export TENON_PLUGIN_PATH
TENON_PLUGIN_PATH=$(dirname "$tenon")/../lib/tenon
cd "$work" || exit 1

echo '# data'
make_idx idx 120 1
export IMAGES=$work/idx
expect 0 '' "$source/share/plant_pathology.sh" leaves 120
[ "$(head -n 1 leaves/train.csv)" = image_id,t_shirt,trouser,pullover,dress ] || complain "columns: $(head -n 1 leaves/train.csv)"
# Image i is of class i % 4.
awk -F, 'NR > 1 && $((NR - 2) % 4 + 2) != 1 { exit 1 }' leaves/train.csv || complain 'classes are not those of the IDX file'
[ "$(ls leaves/images | wc -l)" = 120 ] || complain "$(ls leaves/images | wc -l) images, expected 120"
expect 1 'leaves is there already' "$source/share/plant_pathology.sh" leaves 120
expect 1 'idx has 120 images, expected 121' "$source/share/plant_pathology.sh" more 121
IMAGES=nowhere expect 1 'no nowhere; run: share/install_packages.sh data' "$source/share/plant_pathology.sh" more
IMAGES=leaves expect 1 'leaves has no train-images-idx3-ubyte' "$source/share/plant_pathology.sh" more
[ ! -e more ] && [ ! -e more.part ] || complain 'a failure left something'
# Folders of PNG images, as Tux Paint's stamps lie: some of each folder, clear pixels white.
perl -MCompress::Zlib -e '
  sub chunk { my ($t, $d) = @_; pack("N", length $d) . $t . $d . pack("N", crc32($t . $d)) }
  mkdir $_ for "stamps", "stamps/birds", "stamps/birds/small", "stamps/fish";
  for my $path ("birds/a", "birds/small/b", "birds/c", "fish/a", "fish/b") {
    open(my $out, ">:raw", "stamps/$path.png") or die;
    print $out "\x89PNG\r\n\x1a\n", chunk("IHDR", pack("NNC5", 9, 7, 8, 6, 0, 0, 0)), chunk("IDAT", compress(("\0" . "\0" x 36) x 7)), chunk("IEND", "");
  }'
IMAGES=stamps expect 0 '' "$source/share/plant_pathology.sh" drawn 4
[ "$(cat drawn/train.csv)" = "$(printf 'image_id,birds,fish\nTrain_00000,1,0\nTrain_00001,0,1\nTrain_00002,1,0\nTrain_00003,0,1')" ] || complain "stamps: $(cat drawn/train.csv)"
cmp -s drawn/images/Train_00003.png stamps/fish/b.png || complain 'an image is not where its class is'
expect 0 '' "$tenon" data drawn
IMAGES=stamps expect 1 'stamps has 5 images, expected 6' "$source/share/plant_pathology.sh" more 6

expect 0 '' "$tenon" data leaves --json
grep -q '"name": "train", "kind": "images", "files": 120, "examples": 120, .*"damaged": 0, .*{"label": 3, "name": "trouser", "examples": 30}' out || complain "tenon data: $(cat out)"
[ "$(grep -c '"event": "set"' out)" = 1 ] || complain "tenon data: $(cat out)"
printf 'image_id\nTrain_00001\nTest_0\n' >leaves/test.csv
expect 0 '' "$tenon" data leaves
grep -q '^train: 120 images, ' out && grep -q '^test: 1 image, ' out && grep -q "cannot read 'leaves/images/Test_0.jpg'" out || complain "tenon data: $(cat out)"
rm leaves/test.csv

small=(--device cpu --image_size 16 --batch_size 8 --width 0.25 --depth 0.3 --json)
train=("$example" "${small[@]}" --epochs 1 --log_dir logs)

echo '# pictures of what was learnt'
expect 0 '' "$example" "${small[@]}" --data_dir leaves --log_dir run --epochs 3
accuracy=$(result accuracy) epochs=$(result epochs)
[ "$epochs" = 3 ] || complain "epochs: $(cat out)"
# A fifth of 120 images, stratified: 6 of each class.
for c in t_shirt trouser pullover dress; do
  [ "$(awk -F, -v c=$c '$5 == c' run/predictions.csv | wc -l)" = 6 ] || complain "$c: $(cut -d, -f 5 run/predictions.csv | sort | uniq -c)"
done
awk -F, -v a="$accuracy" 'NR > 1 { right += $2 == $4 } END { exit (right / 24 - a) ^ 2 > 1e-12 }' run/predictions.csv ||
  complain "the accuracy is not that of predictions.csv: $accuracy"
if [ -e "$TENON_PLUGIN_PATH/pictures/cairo.so" ]; then
  wrong=$(awk -F, 'NR > 1 && $2 != $4' run/predictions.csv | wc -l)
  expect 0 '' "$tenon" plot run --output curves.svg --json
  grep -q accuracy out || complain "tags: $(cat out)"
  expect 0 '' "$tenon" plot confusion run/predictions.csv --output confusion.svg --json
  [ "$(result examples) $(result right)" = "24 $((24 - wrong))" ] || complain "confusion: $(cat out), expected $wrong wrong"
  expect 0 '' "$tenon" plot wrong run/predictions.csv --output wrong.png --json
  [ "$(result wrong)" = "$wrong" ] || complain "wrong: $(cat out), expected $wrong"
  expect 2 '--data_dir is for records; run/predictions.csv names images' "$tenon" plot wrong run/predictions.csv --data_dir leaves --output no.png
  sed '2s/images/nowhere/' run/predictions.csv | sed '2s/^0,[0-3],[a-z_]*/0,0,t_shirt/; 2s/,[0-3],[a-z_]*,leaves/,3,dress,leaves/' >moved.csv
  expect 1 "cannot open 'leaves/nowhere/" "$tenon" plot wrong moved.csv --count 400 --output no.png
  [ ! -e no.png ] || complain 'a mistake left a picture'
fi

echo '# bad data'
# damaged SED: a copy whose table is changed.
damaged() {
  rm -rf bad
  cp -r leaves bad
  sed -i "$1" bad/train.csv
}
bad() { expect 1 "$1" "${train[@]}" --data_dir bad; }
damaged '1s/$/,rare/; 2s/.*/Train_00000,0,0,0,0,1/; 3,$s/$/,0/'
bad "bad: class 'rare' has one image, expected two or more (--keep_single_images trains on it)"
"${train[@]}" --data_dir bad --keep_single_images --log_dir one >out 2>err || complain "one image: $(cat err)"
[ "$(cat err)" = 'bad: none is held out of classes with one image: rare' ] || complain "one image: $(cat err)"
awk -F, '$5 == "rare"' one/predictions.csv | grep -q . && complain 'the only image of a class was held out'
damaged '100s/,0,/,no,/'
bad "bad/train.csv:100: column '"
damaged '50s/,0/,1/'
bad "bad/train.csv: image_id 'Train_00048' is of 2 classes, expected one"
expect 1 "bad/train.csv: image_id 'Train_00048' is of 2 classes, expected one" "$tenon" data bad
damaged '50s/,1/,0/'
bad "bad/train.csv: image_id 'Train_00048' is of 0 classes, expected one"
damaged '50s/,[01]$//'
bad 'bad/train.csv:50: expected 5 fields as the header has, found 4'
damaged '2,$d'
bad 'bad/train.csv: expected rows of images, found none'
damaged '1s/image_id/id/'
bad "from_csv: types has a column 'image_id'; bad/train.csv has id, t_shirt"
damaged ''
rm bad/images/Train_00007.jpg
bad "cannot open 'bad/images/Train_00007.jpg': No such file or directory"
echo '%PDF-1.4' >bad/images/Train_00007.jpg
bad 'bad/images/Train_00007.jpg: image: expected JPEG, PNG or WebP, found bytes 255044462d312e34'
head -c 300 leaves/images/Train_00008.jpg >bad/images/Train_00008.jpg
rm bad/images/Train_00009.jpg
# 117 images of 120 are good: 23 are held out.
"${train[@]}" --data_dir bad --skip_bad_images --log_dir some >out 2>err || complain "bad images: $(cat err)"
[ "$(cat err)" = 'bad: passed over 3 of 120 images, which cannot be read, the first bad/images/Train_00007.jpg' ] || complain "bad images: $(cat err)"
[ "$(wc -l <some/predictions.csv)" = 24 ] || complain "held out: $(wc -l <some/predictions.csv) lines, expected 24"
grep -qE 'Train_0000[789]' some/predictions.csv && complain 'a bad image was predicted'
expect 0 '' "${train[@]}" --data_dir leaves --skip_bad_images --log_dir some # none: no line
rm bad/images/*
expect 1 'bad: none of 120 images can be read' "${train[@]}" --data_dir bad --skip_bad_images --log_dir some
expect 1 "cannot open 'nowhere/train.csv'" "${train[@]}" --data_dir nowhere

echo '# mistakes'
expect 0 '' "$example" --help
grep -q '^  --batch_size VALUE  *of each replica (128)$' out || complain "help: $(cat out)"
grep -q '^  --skip_bad_images  *pass over' out || complain "help: $(cat out)"
expect 1 '--image_size: expected 1 to 4096, found 0' "${train[@]}" --image_size 0
expect 1 '--depth: expected 0.1 to 10, found 1e300' "${train[@]}" --data_dir leaves --depth 1e300
expect 1 "--width: expected a number, found 'x'" "${train[@]}" --data_dir leaves --width x
expect 1 '--log_dir: expected a value' "${train[@]}" --log_dir
expect 1 'unknown flag --epoch, expected --device, --seed, --batch_size' "${train[@]}" --epoch 3

echo '# a log directory that another run writes, and one whose disk fills'
"$example" "${small[@]}" --data_dir leaves --log_dir shared --epochs 1000000 >other.out 2>other.err &
other=$!
until compgen -G 'shared/validation/events*' >/dev/null || ! kill -0 $other 2>/dev/null; do sleep 0.02; done
"${train[@]}" --data_dir leaves --log_dir shared >out 2>err || complain "beside another run: $(cat err)"
kill $other
wait $other 2>/dev/null
[ "$(cat out err | grep -c 'another run writes')" = 1 ] || complain "beside another run: $(cat out err)"
if [ "$(id -u)" -eq 0 ] && mkdir -p tiny && mount -t tmpfs -o size=64k tmpfs tiny 2>/dev/null; then
  head -c 60k /dev/zero >tiny/filling 2>/dev/null
  # Training goes on, and what cannot be left behind it is an error.
  "$example" "${small[@]}" --data_dir leaves --log_dir tiny/logs --epochs 30 >out 2>err && complain 'predictions on a full disk: exit code 0'
  [ "$(wc -l <err)" = 2 ] || complain "a full disk: $(cat err)"
  grep -q "^TensorBoard: cannot write 'tiny/logs/train/.*: No space left on device; training goes on" err || complain "a full disk: $(cat err)"
  grep -q "^plant_pathology: cannot write 'tiny/logs/predictions.csv': No space left on device" err || complain "a full disk: $(cat err)"
  umount tiny
else
  echo 'left out: a small disk, which root can mount'
fi
finish
