#!/usr/bin/env bash
# English and German sentences from packages that Debian has, as files for `tenon convert translation`; nothing is downloaded
# but packages and their lists.   translation.sh DIR   writes DIR/dictionary.tsv, DIR/descriptions.tsv and links DIR/*.mo, to be
# trained with; and DIR/dev.en and DIR/dev.de, to be held out.
#
# Descriptions of packages, and their translations by Debian's translators, are paired sentence by sentence, where each paragraph has
# as many in both. Those whose text begins with the same 60 characters are a family; every fiftieth family is held out, so that no
# text of it is trained with.
#
# The dictionary of TU Chemnitz (package trans-de-en, GPL) has entries and many example sentences with their translations:
#   Aal {m} [zool.] | Aale {pl} :: eel | eels
# A line becomes a pair for each part between bars, of the first alternative between semicolons, without notes in brackets.
# Message catalogues are those that are installed.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
dictionary=/usr/share/trans/de-en
[ -r "$dictionary" ] || { echo "$0: $dictionary is missing; install the package trans-de-en" >&2; exit 1; }
mkdir -p "$1"
. "$(dirname "$0")/package_lists.sh"
package_lists "$1" de

{
  show_lists Translation-de
  echo --
  show_lists Translation-en
} | LC_ALL=C awk -v train="$1/descriptions.tsv.part" -v english="$1/dev.en.part" -v german="$1/dev.de.part" '
  function end_paragraph() {
    gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text)
    if (text != "") all = all text "\n"
    text = ""
  }
  function end_package() {
    end_paragraph()
    if (sum != "" && !of_english) translated[sum] = all
    else if (sum in translated && !(sum in done)) { pair(all, translated[sum]); done[sum] }
    sum = all = ""
  }
  function sentences(paragraph, out,   n) {
    while (match(paragraph, /[.!?] [A-Z0-9"(\303]/)) {
      out[++n] = substr(paragraph, 1, RSTART)
      paragraph = substr(paragraph, RSTART + 2)
    }
    out[++n] = paragraph
    return n
  }
  function pair(source, target,   n, i, k, m, a, b, x, y, family) {
    n = split(source, a, "\n"); k = split(target, b, "\n")
    if (n != k || n < 3) return
    family = substr(a[2], 1, 60)
    if (!(family in number)) number[family] = ++families
    for (i = 1; i < n; ++i) {
      m = sentences(a[i], x)
      if (sentences(b[i], y) == m)
        for (k = 1; k <= m; ++k) put(x[k], y[k], number[family] % 50 == 0)
    }
  }
  function put(source, target, held) {
    if (source in given || source == target || length(source) < 10 || length(target) < 10) return
    given[source]
    if (held) { print source > english; print target > german }
    else print source "\t" target > train
  }
  /^--$/ { end_package(); of_english = 1; next }
  /^$/ { end_package() }
  /^Description-md5: / { sum = substr($0, 18) }
  /^Description-..: / { text = substr($0, 17); end_paragraph() }
  /^ \.$/ { end_paragraph(); next }
  /^  +[*o+-] / { end_paragraph(); sub(/^  +[*o+-]/, "") }
  /^ / { text = text $0 }
  END { end_package() }'
for file in descriptions.tsv dev.en dev.de; do mv "$1/$file.part" "$1/$file"; done

LC_ALL=C.UTF-8 awk '
  function plain(text) {
    gsub(/\{[^}]*\}|\[[^]]*\]|<[^>]*>|\([^)]*\)/, " ", text)
    sub(/;.*/, "", text)
    gsub(/[ \t]+/, " ", text)
    gsub(/^ | $/, "", text)
    return text
  }
  /^#/ { next }
  {
    bar = index($0, " :: ")
    if (!bar) next
    n = split(substr($0, 1, bar - 1), german, "|")
    if (split(substr($0, bar + 4), english, "|") != n) next
    for (i = 1; i <= n; ++i) {
      source = plain(english[i]); target = plain(german[i])
      if (source != "" && target != "") print source "\t" target
    }
  }' "$dictionary" | LC_ALL=C sort -u >"$1/dictionary.tsv.part"
mv "$1/dictionary.tsv.part" "$1/dictionary.tsv"
for catalogue in /usr/share/locale/de/LC_MESSAGES/*.mo; do
  [ -r "$catalogue" ] && ln -sf "$catalogue" "$1/"
done
wc -l "$1/dictionary.tsv" "$1/descriptions.tsv" "$1/dev.en"
