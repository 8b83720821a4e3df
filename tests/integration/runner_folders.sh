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
      my $row = "\0" . pack("C*", map { $_ + $i } (@rgb) x 8);
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

echo '# mistakes'
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
expect 1 "expected a directory a class, found no directory" "$tenon" convert images --input "$work/in/cat" --output "$work/y"
expect 2 '--train_csv excludes --input' "${convert[@]}" --output "$work/y" --train_csv x
expect 2 '--validation_fraction needs --input' "$tenon" convert images --train_csv x --labels y --output "$work/y" --validation_fraction 0.5
finish
