#!/usr/bin/env bash
# Debian packages' names with their long descriptions, and their synopses, a pair a line, for `tenon convert summaries`: nothing is
# downloaded but the lists of packages.   summaries.sh DIR   writes DIR/train.tsv and DIR/dev.tsv.
#
# Packages of one source repeat each other: those whose descriptions begin with the same 60 characters are a family. Every fiftieth
# family is for evaluation, so that no text of it was seen in training.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
. "$(dirname "$0")/package_lists.sh"
package_lists "$1"
show_lists Translation-en | LC_ALL=C awk -v train="$1/train.tsv.part" -v dev="$1/dev.tsv.part" '
  function put(   family) {
    gsub(/[ \t]+/, " ", text); sub(/^ /, "", text)
    family = substr(text, 1, 60)
    if (synopsis != "" && length(text) >= 80 && !(name in seen)) {
      if (!(family in number)) number[family] = ++families
      print name ": " text "\t" synopsis > (number[family] % 50 ? train : dev)
    }
    seen[name]
    synopsis = text = name = ""
  }
  /^$/ { put() }
  /^Package: / { name = substr($0, 10) }
  /^Description-en: / { synopsis = substr($0, 17); gsub(/\t/, " ", synopsis); next }
  /^ / && synopsis != "" { if ($0 != " .") text = text $0 }
  END { put() }'
for split in train dev; do mv "$1/$split.tsv.part" "$1/$split.tsv"; done
wc -l "$1/train.tsv" "$1/dev.tsv"
