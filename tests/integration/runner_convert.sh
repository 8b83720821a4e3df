#!/bin/bash
# A data directory that is converted into anew has the old data or the new, whole: killed before each call that changes
# files, and with each of them failing. Control: with the exchange of directories cut in pieces, kills are caught.
#   runner_convert.sh TENON IO_SHIM.so, both as absolute paths
. "$(dirname "$0")/runner_lib.sh"
shim=$2
make_idx "$work/old-idx" 24 8
make_idx "$work/new-idx" 40 16
printf 'a\nb\nc\nd\n' >"$work/new-idx/labels.txt"
data=$work/data/dir

convert() {  # IDX OUTPUT
  "$tenon" convert idx --input "$1" --output "$2" --overwrite --threads 1 --shard_bytes 2048
}
# What a program finds there: every file that is not hidden, and what is in it.
contents() { (cd "$1" 2>/dev/null && find . -type f ! -path '*/.*' -exec cksum {} + | sort); }
fresh() {
  rm -rf "$work/data"
  mkdir -p "$work/data"
  cp -r "$work/$1" "$data"
}
# Runs a conversion of the new data under a plan; what it leaves is in $found.
attempt() {  # KIND PLAN..
  fresh "$1"
  (IO_SHIM="${*:2}" IO_SHIM_COUNT=$work/count LD_PRELOAD=$shim convert "$work/new-idx" "$data") >"$work/out" 2>"$work/err"
  code=$?
  found=$(contents "$data")
}
whole() { [ "$found" = "${old[$1]}" ] || [ "$found" = "${new[$1]}" ]; }
leftovers() { find "$work/data" -mindepth 1 -name '.*' | head -n 3; }

# swap: notes of somebody else beside the records; moved: a directory, so that files are moved in one by one.
declare -A old new
for kind in swap moved; do
  convert "$work/old-idx" "$work/$kind" >/dev/null || complain 'the old data cannot be made'
  echo 'not a record' >"$work/$kind/notes.txt"
done
mkdir "$work/moved/more"
echo 'not a record either' >"$work/moved/more/notes.txt"
for kind in swap moved; do
  old[$kind]=$(contents "$work/$kind")
  attempt "$kind" count 0
  [ "$code" -eq 0 ] || complain "$kind: exit code $code: $(cat "$work/err")"
  new[$kind]=$found
  [ "${old[$kind]}" != "${new[$kind]}" ] || complain "$kind: nothing has changed"
  [ -z "$(leftovers)" ] || complain "$kind: left $(leftovers)"
  grep -q notes.txt <<<"$found" || complain "$kind: notes.txt is gone"
  declare "calls_$kind=$(cat "$work/count")"
done
[ "$calls_swap" -gt 40 ] && [ "$calls_moved" -gt 40 ] || complain "counted only $calls_swap and $calls_moved calls"

echo '# killed before each call'
for ((n = 0; n < calls_swap; n++)); do
  attempt swap kill $n
  whole swap || complain "killed at call $n of $calls_swap: neither old nor new: $(ls -A "$data")"
  convert "$work/new-idx" "$data" >/dev/null 2>"$work/err" || complain "after a kill at call $n: $(cat "$work/err")"
  [ "$(contents "$data")" = "${new[swap]}" ] || complain "after a kill at call $n: the next conversion left $(ls -A "$data")"
  [ -z "$(leftovers)" ] || complain "after a kill at call $n: left $(leftovers)"
done
# A reader takes old or new, whole, and changes nothing; where it finds neither, it says so until a conversion has gone on.
read_or_finish() {  # KIND WHEN
  local before=$found state
  state=$(cd "$data" && find . | sort)
  if train_once; then
    whole "$1" || complain "$2: trained on neither old nor new: $(ls -A "$data")"
  else
    grep -q 'was cut short' "$work/err" || complain "$2, then trained: $(cat "$work/err")"
  fi
  [ "$(contents "$data")" = "$before" ] && [ "$(cd "$data" && find . | sort)" = "$state" ] || complain "$2: a reader changed the data"
  # Asked to keep what is there, it finishes what was begun, and refuses.
  "$tenon" convert idx --input "$work/new-idx" --output "$data" >/dev/null 2>"$work/err" && complain "$2: overwritten"
  grep -q 'expected no records' "$work/err" || complain "$2: $(cat "$work/err")"
  found=$(contents "$data")
  whole "$1" || complain "$2: neither old nor new: $(ls -A "$data")"
  train_once || complain "$2, finished, then trained: $(cat "$work/err")"
}
train_once() {
  "$tenon" train mlp --hidden 4 --data_dir "$data" --train_steps 1 --train_batch_size 4 --noevaluate --device cpu \
    >/dev/null 2>"$work/err"
}
between=0
for ((n = 0; n < calls_moved; n++)); do
  attempt moved kill $n
  whole moved || between=$((between + 1))
  read_or_finish moved "killed at call $n of $calls_moved"
  convert "$work/new-idx" "$data" >/dev/null 2>"$work/err" || complain "after a kill at call $n: $(cat "$work/err")"
  [ -z "$(leftovers)" ] || complain "moved: after a kill at call $n: left $(leftovers)"
done
[ "$between" -gt 0 ] || complain 'no kill fell between two files that are moved: nothing was shown'

echo '# each call fails, once or from then on'
for kind in swap moved; do
  calls=calls_$kind
  for ((n = 0; n < ${!calls}; n++)); do
    for plan in "fail $n $((n % 2 ? 5 : 28))" "fill $n 28"; do
      attempt $kind $plan
      [ "$code" -eq 0 ] || [ "$(wc -l <"$work/err")" -eq 1 ] || complain "$kind: $plan: expected one line, found $(cat "$work/err")"
      grep -F .records- "$work/err" | grep -v ' stays: ' && complain "$kind: $plan: names a directory that nobody asked for"
      whole $kind || read_or_finish $kind "$kind: $plan"
    done
  done
done

echo '# control: three renames in the place of one exchange'
export IO_SHIM_SPLIT=1
attempt swap count 0
caught=0
calls=$(cat "$work/count")
for ((n = 0; n < calls; n++)); do
  attempt swap kill $n
  whole swap || caught=$((caught + 1))
done
unset IO_SHIM_SPLIT
[ "$caught" -gt 0 ] || complain 'the test does not notice an exchange in steps'
echo "$calls_swap and $calls_moved kills; the control was caught $caught times"

echo '# two at a time'
fresh swap
exec 9<"$data"
flock -n 9 || complain 'flock: the directory is locked'
before=$(contents "$data")
expect 1 'is in use by another conversion' convert "$work/new-idx" "$data"
[ "$(contents "$data")" = "$before" ] || complain 'the refused conversion changed the data'
exec 9<&-
expect 0 '' convert "$work/new-idx" "$data"

echo "# what is others', whatever its name"
everything() { (cd "$1" && find . -mindepth 1 -exec ls -di {} + && find . -type f -exec cksum {} +) | sort; }
for inside in .records-backup .records-moving .records-new; do
  fresh swap
  cp -a "$data" "$work/backup"
  mv "$work/backup" "$data/$inside"
  echo mine >"$data/$inside/more.txt"
  before=$(everything "$data/$inside")
  train_once || complain "$inside: $(cat "$work/err")"
  [ "$(contents "$data")" = "${old[swap]}" ] || complain "$inside: a reader changed the data"
  expect 0 '' convert "$work/new-idx" "$data"
  [ "$(everything "$data/$inside")" = "$before" ] && [ ! -e "$data/more.txt" ] || complain "$inside: taken for a conversion's"
  rm -rf "${data:?}/$inside"
  [ "$(contents "$data")" = "${new[swap]}" ] || complain "$inside: the data are not the new ones"
done
fresh swap
mkdir "$work/precious" && cp -a "$data/." "$work/precious"
before=$(everything "$work/precious")
ln -s "$work/precious" "$data/.records-aaaaaa"
ln -s "$work/precious" "$work/data/.dir.records-aaaaaa"
cp -a "$work/precious" "$work/data/.dir.records-backup"
beside=$(everything "$work/data/.dir.records-backup")
expect 0 '' convert "$work/new-idx" "$data"
[ "$(everything "$work/precious")" = "$before" ] || complain 'a link was followed'
[ -L "$data/.records-aaaaaa" ] && [ -L "$work/data/.dir.records-aaaaaa" ] || complain 'a link is gone'
[ "$(everything "$work/data/.dir.records-backup")" = "$beside" ] || complain 'a directory beside was taken'
rm -rf "$work/data"

echo '# where the directory is'
fresh swap
convert "$work/new-idx" "$data" >/dev/null || complain 'the data cannot be made'
ln -s dir "$work/data/link"
expect 0 '' convert "$work/old-idx" "$work/data/link"
[ -L "$work/data/link" ] || complain 'the link is gone'
[ "$(contents "$data")" = "${old[swap]}" ] || complain 'the link was not followed'
(cd "$data" && expect 0 '' convert "$work/new-idx" . && [ -e notes.txt ]) || complain 'the current directory is another one'
[ "$(contents "$data")" = "${new[swap]}" ] || complain '--output . has not the new data'
chmod 2750 "$data"
expect 0 '' convert "$work/old-idx" "$data"
[ "$(stat -c %a "$data")" = 2750 ] || complain "the mode has become $(stat -c %a "$data")"
rm "$data/labels.txt" && mkdir "$data/labels.txt"
before=$(contents "$data")
expect 1 "expected a file 'labels.txt' or none" convert "$work/new-idx" "$data"
[ "$(contents "$data")" = "$before" ] || complain 'the refused conversion changed the data'
mkdir "$work/mounted"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs tmpfs "$work/mounted" 2>/dev/null; then
  convert "$work/old-idx" "$work/mounted" >/dev/null || complain 'a mount point cannot be converted into'
  expect 0 '' convert "$work/new-idx" "$work/mounted"
  [ "$(contents "$work/mounted" | wc -l)" -eq "$(($(wc -l <<<"${new[swap]}") - 1))" ] || complain "a mount point has $(ls -A "$work/mounted")"
  umount "$work/mounted"
fi
finish
