#!/bin/bash
# What is in a data set: records, folders of images, tables, text, and what is damaged in them.
#   runner_data.sh TENON
. "$(dirname "$0")/runner_lib.sh"
field() { grep -q -- "$1" "$work/out" || complain "expected '$1', found: $(cat "$work/out")"; }

make_idx "$work/idx" 60 20
"$tenon" convert idx --input "$work/idx" --output "$work/data" >/dev/null || exit 1

echo '# records by split'
expect 0 '' "$tenon" data "$work/data"
field '^train: 60 records, '
field '^validation: 20 records, '
field '^  image/class/label  *int64  x 1 '
field '^  images: 60 [A-Z]*, 8x8$'
field '^  4 classes$'
expect 0 '' "$tenon" data "$work/data" --json
[ "$(wc -l <"$work/out")" -eq 3 ] || complain "lines: $(cat "$work/out")"
field '"event": "set", "name": "train", "kind": "records", "files": [0-9]*, "examples": 60, '
field '"event": "result", "sets": 2, "examples": 80, "damaged": 0}'
"$tenon" data "$work/data" --json | sed -n 's/.*"classes": \[\([^]]*\)\].*/\1/p' | grep -o '"examples": [0-9]*' |
  awk '{ sum += $2 } END { exit sum != 80 }' || complain 'the classes of both do not add up to 80 examples'

echo '# a record whose bytes changed, and a file that ends early'
first=$(ls "$work/data"/train-* | head -n 1)
cp "$first" "$work/damaged"
printf 'x' | dd of="$work/damaged" bs=1 seek=100 conv=notrunc 2>/dev/null
expect 0 '' "$tenon" data "$work/damaged" --json
field '"damaged": 1'
field 'checksum'
head -c 5000 "$first" >"$work/short"
expect 0 '' "$tenon" data "$work/short"
field '^  1 damaged$'

echo '# folders of images, one of them a PDF'
mkdir -p "$work/folders/cat" "$work/folders/dog"
png() { perl -MCompress::Zlib -e '
  sub chunk { my ($t, $d) = @_; pack("N", length $d) . $t . $d . pack("N", crc32($t . $d)) } binmode STDOUT;
  print "\x89PNG\r\n\x1a\n", chunk("IHDR", pack("NNC5", $ARGV[0], 8, 8, 2, 0, 0, 0)),
    chunk("IDAT", compress(("\0" . "\x55" x (3 * $ARGV[0])) x 8)), chunk("IEND", "")' "$1"; }
mkdir "$work/folders/cat/young" "$work/folders/cat/.hidden" # what is below a folder is of its class, as `tenon convert images` has it
for i in 1 2 young/3 .hidden/4; do png 8 >"$work/folders/cat/$i.png"; done
png 12 >"$work/folders/dog/1.png"
echo '%PDF-1.4' >"$work/folders/dog/2.pdf"
expect 0 '' "$tenon" data "$work/folders" --output "$work/sheet.png"
field '^images: 4 images, '
field '^  images: 4 PNG, 8x8 to 12x8$'
field '^    cat  *3  *75.0 %'
field 'dog/2.pdf: is no JPEG, PNG or WebP image$'
[ "$(head -c 4 "$work/sheet.png" | tail -c 3)" = PNG ] || complain 'the contact sheet is no PNG'
# All of it is there: four images beside each other, of which the picture without a frame of its own would show one.
size=$(perl -e 'binmode STDIN; read STDIN, my $head, 24; print join "x", unpack "x16 NN", $head' <"$work/sheet.png")
[ "${size%x*}" -ge 1000 ] || complain "the contact sheet is of $size pixels"

# Some of each class: a cat of 8 pixels and a dog of 12.
expect 0 '' "$tenon" data "$work/folders" --output "$work/sheet.svg" --count 2
[ "$(grep -o '<image [^>]* width="[0-9]*"' "$work/sheet.svg" | sed 's/.*width="//' | tr -d '"' | sort -n | tr '\n' ' ')" = '8 12 ' ] || complain "shown: $(grep -o '<image[^>]\{1,60\}' "$work/sheet.svg")"
# Of a class with fewer images all, and more of the others.
mkdir -p "$work/folders/emu"
for i in 1 2 3 4; do png 10 >"$work/folders/emu/$i.png"; done
expect 0 '' "$tenon" data "$work/folders" --output "$work/sheet.svg" --count 7
[ "$(grep -o '<image [^>]* width="[0-9]*"' "$work/sheet.svg" | sed 's/.*width="//' | tr -d '"' | sort -n | tr '\n' ' ')" = '8 8 8 10 10 10 12 ' ] || complain "shown: $(grep -o '<image[^>]\{1,60\}' "$work/sheet.svg")"
rm -r "$work/folders/emu"

echo '# a table, and text'
printf 'age,name\n3,ann\n5,bob\n' >"$work/t.csv"
expect 0 '' "$tenon" data "$work/t.csv"
field '^  age  *numbers, 3 to 5, mean 4$'
field '^  name  *text$'
printf 'one line\nand another\n' >"$work/t.txt"
expect 0 '' "$tenon" data "$work/t.txt"
field '^t.txt: 2 lines, '
field 'the longest line has 11 bytes'

echo '# how fast it is read'
bench=("$tenon" data --bench --seconds 0.05 --height 24 --width 24)
parts_of() { sed -n 's/.*"event": "bench", "name": "\([^"]*\)".*/\1/p' "$work/out" | tr '\n' ' '; grep -o '"part": "[a-z]*"' "$work/out" | cut -d'"' -f4 | tr '\n' ' '; }
is_whole() { # shares add up to 1, a set each; rates are numbers above 0
  grep -o '"share": [0-9.e+-]*' "$work/out" | awk -v sets="$1" '{ sum += $2 } END { d = sum - sets; exit !(d < 1e-6 && -d < 1e-6) }' || complain "shares: $(cat "$work/out")"
  grep -o '"examples_per_second[a-z_]*": [0-9.e+-]*' "$work/out" | awk -v sets="$1" '$2 > 0 { n++ } END { exit n != 2 * sets }' || complain "rates: $(cat "$work/out")"
}
expect 0 '' "${bench[@]}" "$work/data" --json
[ "$(parts_of)" = 'train validation read decode change batch read decode change batch ' ] || complain "parts: $(parts_of)"
is_whole 2
field '"name": "train", "kind": "records", "unit": "image", '
field '"batch_size": 60'
expect 0 '' "${bench[@]}" "$work/folders" --json
[ "$(parts_of)" = 'images read decode change batch ' ] || complain "parts: $(parts_of)"
is_whole 1
expect 0 '' "${bench[@]}" "$work/t.csv" "$work/t.txt" --json
[ "$(parts_of)" = 't.csv t.txt read batch read batch ' ] || complain "parts: $(parts_of)"
is_whole 2
field '"kind": "table", "unit": "row"'
field '"kind": "text", "unit": "line"'
expect 0 '' "${bench[@]}" "$work/data"
field '^train: .* images/s, .* of a core.s work; batches of 60 of 24x24, '
field '^  decode  .* ms .* %$'
expect 0 '' "$tenon" data --bench --seconds 0.05 "$work/folders" --json # as large as the first image
field '"batch_size": 64, "height": 8, "width": 8, '
expect 0 '' "${bench[@]}" "$work/damaged"

echo '# mistakes'
mkdir -p "$work/broken"
printf '\xff\xd8\xff and no more' >"$work/broken/a.jpg"
printf '\x89PNG\r\n\x1a\n and no more' >"$work/folders/cat/4.png"
expect 0 '' "${bench[@]}" "$work/folders" --json # without those that are damaged
[ "$(parts_of)" = 'images read decode change batch ' ] || complain "parts: $(parts_of)"
expect 1 "--bench: nothing of 'images' can be read" "${bench[@]}" "$work/broken"
expect 2 '--seconds needs --bench' "$tenon" data "$work/data" --seconds 1
expect 2 '--output does nothing with --bench' "$tenon" data "$work/data" --bench --output "$work/x.png"
expect 1 "no file or directory '$work/nowhere'" "$tenon" data "$work/nowhere"
mkdir "$work/empty"
expect 1 "'$work/empty' has no data that Tenon knows" "$tenon" data "$work/empty"
expect 2 '--count needs --output F.png' "$tenon" data "$work/data" --count 3
expect 2 "--output is 'x.gif'" "$tenon" data "$work/data" --output x.gif
expect 1 'the data have no images' "$tenon" data "$work/t.txt" --output "$work/none.png"
printf 'age\n3\nx\n' >"$work/bad.csv"
expect 0 '' "$tenon" data "$work/bad.csv"
field '^bad.csv: 1 row, '
field '^  1 damaged$'
field "bad.csv:3: column 'age': expected i64 as in the first row, found 'x'$"
printf 'age,name\n3\n' >"$work/bad.csv"
expect 1 "bad.csv:2: expected 2 fields as the header has, found 1" "$tenon" data "$work/bad.csv"
finish
