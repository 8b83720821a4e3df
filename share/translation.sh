#!/usr/bin/env bash
# English and German sentences from packages that Debian has, as files for `tenon convert translation`; nothing is downloaded
# but packages.   translation.sh DIR   writes DIR/dictionary.tsv and links DIR/*.mo.
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
wc -l "$1/dictionary.tsv"
