#!/bin/bash
# Data in the layout of the contest Plant Pathology 2020, for apps/examples/plant_pathology.cc, made of Fashion-MNIST: OUTPUT/train.csv with
# image_id and a column of 0 and 1 for each class, OUTPUT/images/ID.jpg.
#   share/plant_pathology.sh OUTPUT [COUNT]     the first COUNT images; as many as the contest has without it
# IMAGES names another directory of IDX files, gzip'd or not, or one of folders with PNG images, a class a folder, which become
# OUTPUT/images/ID.png: the stamps of Tux Paint (IMAGES=/usr/share/tuxpaint/stamps, of Debian's tuxpaint-stamps-default), all without COUNT, or
# some of each folder. Needs: share/install_packages.sh data
set -euo pipefail

[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: $0 OUTPUT [COUNT]" >&2; exit 2; }
output=$1 count=${2:-}
images=${IMAGES:-/usr/share/datasets/fashion-mnist}
classes=(t_shirt trouser pullover dress coat sandal shirt sneaker bag ankle_boot)

fail() { echo "plant_pathology: $*" >&2; exit 1; }
case $count in *[!0-9]* | 0*) fail "COUNT is '$count', expected a number of images" ;; esac
[ -d "$images" ] || fail "no $images; run: share/install_packages.sh data"
[ ! -e "$output" ] || fail "$output is there already"

made=$output.part
rm -rf "$made"
trap 'rm -rf "$made"' EXIT

# Classes and paths of PNG images, a line each, the classes in turn.
list_folders() {
  find "$images"/*/ -type f -name '*.png' 2>/dev/null | LC_ALL=C sort |
    awk -v from=$((${#images} + 2)) '{ c = substr($0, from); sub("/.*", "", c); printf "%d\t%s\t%s\n", n[c]++, c, $0 }' |
    LC_ALL=C sort -s -n -k1,1 | cut -f 2-
}
# write_table NAMES: train.csv, of the numbers of the images' classes, a line each, whose names stand in a file.
write_table() {
  awk 'NR == FNR { name[NR] = $0; next }
    { label[FNR] = $1 + 0; if (label[FNR] >= n) n = label[FNR] + 1 }
    END {
      printf "image_id"
      for (c = 1; c <= n; ++c) printf ",%s", c in name ? name[c] : "class_" c - 1
      print ""
      for (i = 1; i <= FNR; ++i) {
        printf "Train_%05d", i - 1
        for (c = 0; c < n; ++c) printf ",%d", c == label[i]
        print ""
      }
    }' "$1" - >"$made/train.csv"
}
done_with() {
  mv "$made" "$output"
  echo "$count images of $(($(head -n 1 "$output/train.csv" | tr -cd , | wc -c))) classes in $output"
}

if [ ! -e "$images/train-images-idx3-ubyte" ] && [ ! -e "$images/train-images-idx3-ubyte.gz" ]; then
  mkdir -p "$made/images"
  list_folders >"$made/list"
  there=$(wc -l <"$made/list")
  [ "$there" -gt 0 ] || fail "$images has no train-images-idx3-ubyte, gzip'd or not, and no folders of PNG images"
  [ "${count:=$there}" -le "$there" ] || fail "$images has $there images, expected $count"
  head -n "$count" "$made/list" >"$made/taken"
  cut -f 1 "$made/taken" | awk '!seen[$0]++' >"$made/names"
  cut -f 1 "$made/taken" | awk 'NR == FNR { number[$0] = NR - 1; next } { print number[$0] }' "$made/names" - | write_table "$made/names"
  cut -f 2 "$made/taken" | awk '{ printf "%s\t%05d\n", $0, NR - 1 }' | while IFS=$'\t' read -r path number; do
    cp "$path" "$made/images/Train_$number.png"
  done
  rm "$made/list" "$made/taken" "$made/names"
  done_with
  exit
fi

count=${count:-1821}
command -v cjpeg >/dev/null || fail 'no cjpeg; run: share/install_packages.sh data'

# idx NAME: the bytes of a file, whether gzip'd or not.
idx() {
  local file=$images/$1
  [ -e "$file" ] || file=$file.gz
  [ -e "$file" ] || fail "$images has no $1, gzip'd or not"
  zcat -f "$file"
}
# numbers BYTES: those that they are, big-endian ones of four bytes each, in a line.
numbers() { echo $(od -An -v -tu4 --endian=big -N "$1"); }

mkdir -p "$made/images"
idx train-images-idx3-ubyte >"$made/pixels"
idx train-labels-idx1-ubyte >"$made/labels"
read -r magic there height width < <(numbers 16 <"$made/pixels")
[ "${magic:-}" = 2051 ] || fail "$images/train-images-idx3-ubyte is no IDX file of images"
[ "$count" -le "$there" ] || fail "$images has $there images, expected $count"

printf '%s\n' "${classes[@]}" >"$made/names"
head -c $((8 + count)) "$made/labels" | tail -c +9 | od -An -v -tu1 -w1 | write_table "$made/names"
export header="P5 $width $height 255" to=$made/images
head -c $((16 + count * height * width)) "$made/pixels" | tail -c +17 |
  split -b $((height * width)) -a 5 -d --filter='{ echo "$header"; cat; } | cjpeg -quality 95 -outfile "$to/$FILE.jpg"' - Train_
rm "$made/pixels" "$made/labels" "$made/names"
done_with
