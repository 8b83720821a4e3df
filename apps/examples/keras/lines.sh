#!/bin/bash
# Lines of each example beside those of its Keras form; fails where an example has more than 1.3 times as many, or speaks of
# graphs and buffers, which a user of Keras has not. (Slots of an optimizer he knows; slots of batches he does not.)
#   lines.sh [NAME..]     with names: the counted lines themselves, side by side
# A line counts unless it is empty, a comment, an include or import, `using namespace`, or the call of what handles the flags:
# `int main` there, `if __name__` and `run(..)` here. Both are formatted to 120 columns.
set -u
keras=$(cd "$(dirname "$0")" && pwd)

# counted FILE: its lines that count.
counted() {
  awk '
    /^ *"""/ { if (gsub(/"""/, "") == 1) text = !text; next }
    text || /^ *$/ || /^ *(\/\/|# |#include|using namespace|import |from [a-z.]* import|int main|if __name__)/ { next }
    /^    run\(train/ { next }
    { print }' "$1"
}

failed=0
if [ $# -gt 0 ]; then
  for name in "$@"; do
    diff --width=240 --side-by-side --expand-tabs <(counted "$keras/../$name.cc") <(counted "$keras/$name.py")
  done
  exit 0
fi
printf '%-18s %4s %6s %6s\n' example C++ Keras ratio
for example in "$keras"/../*.cc; do
  name=$(basename "$example" .cc)
  [ "$name" != example_program ] || continue  # what handles the flags
  [ -f "$keras/$name.py" ] || { echo "lines.sh: apps/examples/$name.cc has no apps/examples/keras/$name.py" >&2; failed=1; continue; }
  if counted "$example" | grep -niE '\b(graphs?|buffers?|batchslots?|slots)\b' >&2; then
    echo "lines.sh: $name: the lines above speak of graphs, buffers or slots" >&2
    failed=1
  fi
  awk -v name="$name" -v ours="$(counted "$example" | wc -l)" -v theirs="$(counted "$keras/$name.py" | wc -l)" 'BEGIN {
    printf "%-18s %4d %6d %6.2f\n", name, ours, theirs, ours / theirs
    exit ours > 1.3 * theirs
  }' || { echo "lines.sh: $name: more than 1.3 times the lines of its Keras form" >&2; failed=1; }
done
exit $failed
