#!/bin/bash
# Folders with a class a directory: from images to a trained model, whatever packs the records and whichever way round a batch is.
#   runner_folders.sh TENON
. "$(dirname "$0")/runner_lib.sh"
# $2 images of 8x8 of the colour $3: $1/0.png, ..
make_images() {
  mkdir -p "$1"
  perl -MCompress::Zlib -e '
    my ($dir, $n, @rgb) = @ARGV;
    sub chunk { my ($type, $data) = @_; return pack("N", length $data) . $type . $data . pack("N", crc32($type . $data)) }
    for my $i (0 .. $n - 1) {
      open(my $out, ">:raw", "$dir/$i.png") or die;
      my $row = "\0" . pack("C*", map { my $x = $_; map { int(($_ + $i) * (4 - $x % 3) / 4) } @rgb } 0 .. 7);
      print $out "\x89PNG\r\n\x1a\n", chunk("IHDR", pack("NNC5", 8, 8, 8, 2, 0, 0, 0)), chunk("IDAT", compress($row x 8)), chunk("IEND", "");
    }' "$1" "$2" $3
}
make_images "$work/in/cat" 20 '200 10 10'
make_images "$work/in/dog/young" 10 '10 200 10'
make_images "$work/in/.hidden" 1 '0 0 0'
data=$work/data
convert=("$tenon" convert images --input "$work/in")

echo '# records and labels'
for threads in 1 4; do
  expect 0 '' "${convert[@]}" --output "$data.$threads" --validation_fraction 0.2 --threads $threads
done
[ "$(cat "$data".1/* | cksum)" = "$(cat "$data".4/* | cksum)" ] || complain 'one thread and four give other bytes'
mv "$data.1" "$data"
[ "$(cat "$data/labels.txt")" = "$(printf 'cat\ndog')" ] || complain "labels: $(cat "$data/labels.txt")"
grep -q '"train": {"records": 24, .*"validation": {"records": 6, ' "$data/info.json" || complain "info: $(cat "$data/info.json")"
printf 'dog\ncow\n' >"$work/labels"
expect 0 '' "${convert[@]}" --output "$work/some" --labels "$work/labels" --validation_input "$work/in"
grep -q '^train: left out 20 (unknown labels), the first .*/cat/.*' "$work/out" || complain "left out: $(cat "$work/out")"

echo '# the same training of plain and of packed records, and of batches whose last axis is the batch'
train=("$tenon" train fashion --train_steps 6 --train_batch_size 8 --height 28 --width 28 --channels 3 --device cpu --json)
cp -r "$data" "$data.packed"
for file in "$data.packed"/train-* "$data.packed"/validation-*; do
  perl -MCompress::Zlib -e 'undef $/; binmode STDOUT; print Compress::Zlib::memGzip(<STDIN>)' <"$file" >"$work/packed"
  cmp -s "$work/packed" "$file" && complain "$file is not packed"
  mv "$work/packed" "$file"
done
expect 0 '' "${train[@]}" --data_dir "$data"
hash=$(result hash)
[ -n "$hash" ] || complain "no hash: $(cat "$work/out")"
for more in "--data_dir $data.packed" "--data_dir $data --transpose_input" "--data_dir $data --label_offset 1 --label_feature image/class/label"; do
  expect 0 '' "${train[@]}" $more
  [ "$(result hash)" = "$hash" ] || complain "$more: hash $(result hash), expected $hash"
done

echo '# how images are read, and what the model directory remembers of it'
hash_of() { # FLAG..: of a training with them
  expect 0 '' "${train[@]}" --data_dir "$data" "$@"
  result hash
}
for kind in half_pixel antialias; do
  [ "$(hash_of --resize $kind)" != "$hash" ] || complain "--resize $kind changes nothing"
done
[ "$(hash_of --resize legacy --alpha drop --channels 3)" = "$hash" ] || complain 'defaults that are given change something'
for cache in memory "disk --cache_file $work/kept"; do
  [ "$(hash_of --cache $cache)" = "$hash" ] || complain "--cache $cache changes something: $(result hash)"
done
[ -s "$work/kept" ] || complain '--cache disk left no file'
kept=$(cksum <"$work/kept")
[ "$(hash_of --cache disk --cache_file "$work/kept")" = "$hash" ] || complain 'images from a cache file change something'
[ "$(cksum <"$work/kept")" = "$kept" ] || complain 'the cache file changed'
expect 1 'kept: holds the images of other data; remove it, or name another file' \
  "${train[@]}" --data_dir "$work/some" --cache disk --cache_file "$work/kept"
model=$work/half
expect 0 '' "${train[@]}" --data_dir "$data" --model_dir "$model" --resize half_pixel
grep -q '"resize": "half_pixel"' "$model/model.json" || complain "model.json: $(cat "$model/model.json")"
loss_of() { # FLAG..: of an evaluation with them
  expect 0 '' "$tenon" evaluate --data_dir "$data" --model_dir "$1" --device cpu --json "${@:2}"
  result loss
}
loss=$(loss_of "$model")
[ -n "$loss" ] && [ "$(loss_of "$model" --resize half_pixel)" = "$loss" ] || complain "evaluate does not remember --resize: $(cat "$work/out")"
cp -r "$model" "$work/forgets"
perl -0pi -e 's/"reading": \{.*?\}/"reading": {}/s' "$work/forgets/model.json"
[ "$(loss_of "$work/forgets")" != "$loss" ] || complain 'evaluate resizes in one way whatever model.json says'
expect 2 "--resize is antialias; $model/model.json says half_pixel" "$tenon" evaluate --data_dir "$data" --model_dir "$model" --resize antialias
expect 2 "--alpha is keep; $model/model.json says drop" "$tenon" predict "$work/in/cat/0.png" --model_dir "$model" --alpha keep
perl -pi -e 's/half_pixel/half/' "$work/forgets/model.json" "$model/model.json"
expect 1 "$model/model.json: reading.resize is 'half', which is not known" "$tenon" evaluate --data_dir "$data" --model_dir "$model"
perl -0pi -e 's/"reading": \{.*?\}/"reading": {"resize": 3}/s' "$model/model.json"
expect 1 "$model/model.json: reading.resize is 3, expected a text" "$tenon" evaluate --data_dir "$data" --model_dir "$model"

echo '# transparency'
perl -MCompress::Zlib -e '
  sub chunk { my ($type, $data) = @_; return pack("N", length $data) . $type . $data . pack("N", crc32($type . $data)) }
  for my $class (0, 1) {
    mkdir "$ARGV[0]/$class";
    for my $i (0 .. 9) {
      open(my $out, ">:raw", "$ARGV[0]/$class/$i.png") or die;
      my $row = "\0" . pack("C*", (200 - 90 * $class, 40, 20 + $i, 25 * $i) x 8);
      print $out "\x89PNG\r\n\x1a\n", chunk("IHDR", pack("NNC5", 8, 8, 8, 6, 0, 0, 0)), chunk("IDAT", compress($row x 8)), chunk("IEND", "");
    }
  }' "$(mkdir -p "$work/clear" && echo "$work/clear")"
expect 0 '' "$tenon" convert images --input "$work/clear" --output "$work/clear.data" --validation_fraction 0.2
data=$work/clear.data
dropped=$(hash_of --alpha drop)
white=$(hash_of --alpha blend)
[ "$white" != "$dropped" ] || complain '--alpha blend changes nothing'
[ "$(hash_of --alpha blend --background 255,255,255)" = "$white" ] || complain 'the background is not white'
[ "$(hash_of --alpha blend --background 0,9,255)" != "$white" ] || complain '--background changes nothing'
train=("$tenon" train fashion --train_steps 6 --train_batch_size 8 --height 28 --width 28 --device cpu --json)
expect 0 '' "${train[@]}" --data_dir "$data" --alpha keep --model_dir "$work/keep"
grep -q '"channels": 4' "$work/keep/model.json" && grep -q '"alpha": "keep"' "$work/keep/model.json" || complain "model.json: $(cat "$work/keep/model.json")"
"$tenon" predict "$work/clear/0/3.png" "$work/clear/1/3.png" --model_dir "$work/keep" --device cpu >"$work/out" 2>&1 ||
  complain "predict with four channels: $(cat "$work/out")"
expect 0 '' "${train[@]}" --data_dir "$data" --alpha blend --background 1,2,3 --model_dir "$work/blend"
expect 0 '' "$tenon" evaluate --data_dir "$data" --model_dir "$work/blend" --device cpu
expect 2 "--background is 1,2,4; $work/blend/model.json says 1,2,3" \
  "$tenon" evaluate --data_dir "$data" --model_dir "$work/blend" --background 1,2,4
data=$work/data

echo '# mistakes'
train+=(--channels 3)
expect 2 '--background needs --alpha blend' "${train[@]}" --data_dir "$data" --background 0,0,0
expect 2 "--background: expected R,G,B, each 0 to 255, found '0,0,256'" "${train[@]}" --data_dir "$data" --alpha blend --background 0,0,256
expect 2 "--background: expected R,G,B, each 0 to 255, found 'white'" "${train[@]}" --data_dir "$data" --alpha blend --background white
expect 2 '--alpha keep makes 4 channels; --channels is 3' "${train[@]}" --data_dir "$data" --alpha keep
expect 2 '--channels 4 needs --alpha keep' "$tenon" train fashion --train_steps 6 --data_dir "$data" --device cpu --channels 4
expect 2 "--resize: expected one of legacy, half_pixel, antialias, found 'bicubic'" "${train[@]}" --data_dir "$data" --resize bicubic
expect 2 '--cache_file needs --cache disk' "${train[@]}" --data_dir "$data" --cache memory --cache_file x
expect 2 '--cache disk needs --cache_file' "${train[@]}" --data_dir "$data" --cache disk
expect 2 '--cache does nothing with --synthetic' "${train[@]}" --synthetic --cache memory
expect 2 '--resize does nothing with --synthetic' "${train[@]}" --synthetic --resize antialias
expect 2 '--cache is for images' "$tenon" train mlp --input 8 --output 4 --synthetic --cache memory
expect 2 'unknown flag --resize' "$tenon" train gpt --resize legacy
expect 1 "image/class/label: expected 2 to 3 for 2 classes (--num_classes, --label_offset), found 1" "${train[@]}" --data_dir "$data" --label_offset 2
expect 1 "expected a feature 'label', found" "${train[@]}" --data_dir "$data" --label_feature label
expect 2 '--transpose_input is for images' "$tenon" train mlp --input 8 --synthetic --transpose_input
echo '%PDF-1.4' >"$work/in/cat/menu.pdf"
expect 1 "$work/in/cat/menu.pdf': image: expected JPEG, PNG or WebP" "${convert[@]}" --output "$work/x"
expect 1 "no files match $work/in/train-*" "$tenon" train fashion --data_dir "$work/in" --train_steps 1  # records are trained on
[ ! -e "$work/x" ] || complain 'a conversion that failed left something'
expect 0 '' "${convert[@]}" --output "$work/x" --skip_bad_images
make_images "$work/in/emu" 1 '1 2 3'
expect 1 "$work/in/emu: has one image, expected at least two" "${convert[@]}" --output "$work/y" --skip_bad_images --validation_fraction 0.2
echo '%PDF-1.4' >"$work/in/emu/menu.pdf"  # passed over, so that there is one image all the same
expect 1 "$work/in/emu: has one image, expected at least two" "${convert[@]}" --output "$work/y" --skip_bad_images --validation_fraction 0.2
expect 0 '' "${convert[@]}" --output "$work/y" --skip_bad_images --validation_fraction 0.2 --keep_single_images
grep -q '^train: 1 class with one image, of which none is held out, the first emu$' "$work/out" || complain "convert: $(cat "$work/out")"
grep -q '"train": {"records": 25, .*"validation": {"records": 6, ' "$work/y/info.json" || complain "info: $(cat "$work/y/info.json")"
expect 0 '' "${convert[@]}" --output "$work/y" --overwrite --skip_bad_images --validation_fraction 0.2 --keep_single_images --json
grep -q '"single_images": 1' "$work/out" || complain "convert --json: $(cat "$work/out")"
expect 2 '--keep_single_images needs --validation_fraction' "${convert[@]}" --output "$work/y" --keep_single_images
rm -r "$work/in/emu" "$work/y"
expect 0 '' "${convert[@]}" --output "$work/y" --skip_bad_images --validation_fraction 0.2
rm "$work/in/cat/menu.pdf"
expect 0 '' "${convert[@]}" --output "$work/z" --validation_fraction 0.2
cmp -s "$work/y/validation-00000-of-00001" "$work/z/validation-00000-of-00001" || complain 'a PDF among the images changed what is held out'
rm -r "$work/y" "$work/z"
expect 1 "expected a directory a class, found no directory" "$tenon" convert images --input "$work/in/cat" --output "$work/y"
expect 2 '--train_csv excludes --input' "${convert[@]}" --output "$work/y" --train_csv x
expect 2 '--validation_fraction needs --input' "$tenon" convert images --train_csv x --labels y --output "$work/y" --validation_fraction 0.5
finish
