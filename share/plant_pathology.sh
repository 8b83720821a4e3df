#!/bin/bash
# Data in the layout of the contest Plant Pathology 2020, for apps/examples/plant_pathology.cc, made of Fashion-MNIST: OUTPUT/train.csv with
# image_id and a column of 0 and 1 for each class, OUTPUT/images/ID.jpg.
#   share/plant_pathology.sh OUTPUT [COUNT]     the first COUNT images; as many as the contest has without it
# IMAGES names another directory of IDX files, gzip'd or not. Needs: share/install_packages.sh data
set -euo pipefail

[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: $0 OUTPUT [COUNT]" >&2; exit 2; }
output=$1 count=${2:-1821}
images=${IMAGES:-/usr/share/datasets/fashion-mnist}
classes=(t_shirt trouser pullover dress coat sandal shirt sneaker bag ankle_boot)

fail() { echo "plant_pathology: $*" >&2; exit 1; }
case $count in '' | *[!0-9]* | 0*) fail "COUNT is '$count', expected a number of images" ;; esac
[ -d "$images" ] || fail "no $images; run: share/install_packages.sh data"
command -v cjpeg >/dev/null || fail 'no cjpeg; run: share/install_packages.sh data'
[ ! -e "$output" ] || fail "$output is there already"

# idx NAME: the bytes of a file, whether gzip'd or not.
idx() {
  local file=$images/$1
  [ -e "$file" ] || file=$file.gz
  [ -e "$file" ] || fail "$images has no $1, gzip'd or not"
  zcat -f "$file"
}
# numbers BYTES: those that they are, big-endian ones of four bytes each, in a line.
numbers() { echo $(od -An -v -tu4 --endian=big -N "$1"); }

made=$output.part
rm -rf "$made"
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/images"
idx train-images-idx3-ubyte >"$made/pixels"
idx train-labels-idx1-ubyte >"$made/labels"
read -r magic there height width < <(numbers 16 <"$made/pixels")
[ "${magic:-}" = 2051 ] || fail "$images/train-images-idx3-ubyte is no IDX file of images"
[ "$count" -le "$there" ] || fail "$images has $there images, expected $count"

head -c $((8 + count)) "$made/labels" | tail -c +9 | od -An -v -tu1 -w1 | awk -v names="${classes[*]}" '
  { label[NR] = $1 + 0; if (label[NR] >= n) n = label[NR] + 1 }
  END {
    split(names, name, " ")
    printf "image_id"
    for (c = 1; c <= n; ++c) printf ",%s", c in name ? name[c] : "class_" c - 1
    print ""
    for (i = 1; i <= NR; ++i) {
      printf "Train_%05d", i - 1
      for (c = 0; c < n; ++c) printf ",%d", c == label[i]
      print ""
    }
  }' >"$made/train.csv"
export header="P5 $width $height 255" to=$made/images
head -c $((16 + count * height * width)) "$made/pixels" | tail -c +17 |
  split -b $((height * width)) -a 5 -d --filter='{ echo "$header"; cat; } | cjpeg -quality 95 -outfile "$to/$FILE.jpg"' - Train_
rm "$made/pixels" "$made/labels"
mv "$made" "$output"
echo "$count images of $(($(head -n 1 "$output/train.csv" | tr -cd , | wc -c))) classes in $output"
