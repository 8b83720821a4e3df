#!/usr/bin/env bash
# Questions about Debian packages in the JSON of SQuAD, for `tenon convert answers`: nothing is downloaded but the lists of
# packages.   answers.sh DIR   writes DIR/train.json and DIR/dev.json.
#
# The texts are real: what Debian's list says of a package, some of its fields as they stand there, and its description. The questions are
# made: each asks for one field, in one of two wordings, and some for a field that the text does not have. Every tenth package is
# for evaluation.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
. "$(dirname "$0")/package_lists.sh"
package_lists "$1"
show_lists _Packages | LC_ALL=C awk -v train="$1/train.json.part" -v dev="$1/dev.json.part" '
  function quoted(text) {
    gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); gsub(/\t/, " ", text); gsub(/\n/, "\\n", text)
    return "\"" text "\""
  }
  # Characters of UTF-8, whatever this awk takes for one.
  function characters(text) { gsub(/[\200-\277]/, "", text); return length(text) }
  BEGIN {
    fields = split("Maintainer Version Description Homepage Section Architecture Installed-Size Multi-Arch", field, " ")
    asks["Maintainer"] = "Who maintains %s?|Who is the maintainer of %s?"
    asks["Version"] = "Which version does %s have?|What is the version of %s?"
    asks["Description"] = "What is %s?|How is %s described?"
    asks["Homepage"] = "Where is the homepage of %s?|Which site tells more of %s?"
    asks["Section"] = "To which section does %s belong?|Which section is %s in?"
    asks["Architecture"] = "For which architecture is %s?|Which machines does %s run on?"
    asks["Installed-Size"] = "How large is %s once it is installed?|What is the installed size of %s?"
    asks["Multi-Arch"] = "Which multi-arch has %s?|How do several architectures share %s?"
  }
  # The questions that package `n` gets: two that it answers, at times one that it does not.
  function questions(n, name,   out, i, f, words, text, asked) {
    for (i = 0; i < fields && asked < 2; ++i) {
      f = field[1 + (n * 5 + int(n / 8) + i * 3) % fields]
      if (!(f in start) && n % 8) continue
      split(asks[f], words, "|")
      text = words[1 + int(n / 8) % 2]
      sub(/%s/, name, text)
      out = out (out == "" ? "" : ", ") "{\"id\": \"" name "/" f "\", \"question\": " quoted(text) ", \"is_impossible\": " \
            (f in start ? "false" : "true") ", \"answers\": [" \
            (f in start ? "{\"text\": " quoted(value[f]) ", \"answer_start\": " start[f] "}" : "") "]}"
      ++asked
    }
    return out
  }
  function put(   to, out) {
    if (!(name in seen) && name != "" && (out = questions(++n, name)) != "") {
      to = n % 10 ? train : dev
      print (begun[to]++ ? "," : "{\"version\": \"v2.0\", \"data\": [{\"title\": \"packages\", \"paragraphs\": [") > to
      print "{\"context\": " quoted(context) ", \"qas\": [" out "]}" > to
    }
    seen[name]
    name = context = ""
    split("", start); split("", value)
  }
  /^$/ { put(); next }
  /^(Package|Maintainer|Version|Description|Homepage|Section|Architecture|Installed-Size|Multi-Arch): / {
    colon = index($0, ":"); key = substr($0, 1, colon - 1); text = substr($0, colon + 2)
    if (key == "Package") name = text
    else { value[key] = text; start[key] = characters(context) + colon + 1 }
    context = context $0 "\n"
  }
  END { put(); for (to in begun) print "]}]}" > to }'
for split in train dev; do mv "$1/$split.json.part" "$1/$split.json"; done
ls -l "$1/train.json" "$1/dev.json"
