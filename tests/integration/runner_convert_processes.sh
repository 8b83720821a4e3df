#!/bin/bash
# Conversion by several processes: mpirun -n N tenon convert, and --part I/N with --merge. The files are those of one process, byte for
# byte, also where processes were killed on the way; what fails leaves nothing that a reader finds.
#   runner_convert_processes.sh TENON
. "$(dirname "$0")/runner_lib.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
together() { # N ARGS..
  local n=$1
  shift
  mpirun -q -n "$n" --bind-to none "$tenon" "$@"
}
# What is there, hidden files too.
contents() { (cd "$1" 2>/dev/null && find . -type f -exec cksum {} + | sort -k 3); }
# The command's files and counts, but for where they are.
counts() { sed "s|$work/[a-z0-9]*|DIR|g" "$1"; }
same() { # WHAT DIRECTORY
  [ -n "$expected" ] && [ "$(contents "$2")" = "$expected" ] || complain "$1: the files are not those of one process: $(ls -A "$2")"
  [ "$(counts "$work/out")" = "$expected_counts" ] || complain "$1: says $(cat "$work/out")"
  rm -rf "$2"
}
work_on() { # WHAT COMMAND..
  local what=$1
  shift
  "$@" >"$work/out" 2>"$work/err" || complain "$what: $(cat "$work/err")"
}

make_idx "$work/idx" 400 90
printf 'a\nb\nc\nd\n' >"$work/labels"
# Images: PNGs made by hand, some of them damaged.
perl -e '
  use Compress::Zlib;
  my $dir = shift;
  mkdir "$dir/images";
  sub chunk { my ($type, $data) = @_; pack("N", length $data) . $type . $data . pack("N", crc32($type . $data)) }
  my $state = 99;
  my %csv;
  for my $i (0 .. 299) {
    my ($w, $h, $rows) = (8 + $i % 13, 6 + $i % 7, "");
    for (1 .. $h) {
      $rows .= "\0";
      for (1 .. 3 * $w) { $state = ($state * 1103515245 + 12345) & 0x7fffffff; $rows .= chr(($state >> 16) & 255) }
    }
    my $png = "\x89PNG\r\n\x1a\n" . chunk("IHDR", pack("NNCCCCC", $w, $h, 8, 2, 0, 0, 0)) . chunk("IDAT", compress($rows)) . chunk("IEND", "");
    substr($png, 45, 20) = "x" x 20 if $i % 50 == 17;
    open(my $file, ">:raw", "$dir/images/$i.png") or die;
    print $file $png;
    $csv{$i < 250 ? "train" : "validation"} .= "images/$i.png," . ("a", "b", "c", "d", "e")[$i % 41 == 0 ? 4 : $i % 4] . "\n";
  }
  for (keys %csv) { open(my $file, ">", "$dir/$_.csv") or die; print $file $csv{$_} }
' "$work" || complain 'no images'
perl -e '
  my ($dir, $n) = @ARGV;
  open(my $s, ">", "$dir/text.en") or die;
  open(my $t, ">", "$dir/text.de") or die;
  my $state = 7;
  for my $i (1 .. $n) {
    my @words = map { $state = ($state * 1103515245 + 12345) & 0x7fffffff; ($state >> 16) % 50 } 1 .. 3 + $i % 5;
    print $s $i % 1000 == 3 ? "\n" : "word @words\n";
    print $t $i % 1500 == 5 ? "\xff\n" : "Wort @words\n";
  }' "$work" 40000
perl -e '
  my ($dir) = @ARGV;
  open(my $f, ">", "$dir/squad.json") or die;
  print $f "{\"version\": \"1.1\", \"data\": [";
  for my $i (1 .. 9000) {
    my $text = "Number $i follows " . ($i - 1) . ".";
    print $f ($i > 1 ? ", " : "") . "{\"title\": \"t\", \"paragraphs\": [{\"context\": \"$text\", \"qas\": [{\"id\": \"$i\", \"question\": \"What follows " . ($i - 1) . "?\", \"answers\": [{\"text\": \"" . ($i % 100 ? $i : "x") . "\", \"answer_start\": 7}]}]}]}";
  }
  print $f "]}\n";' "$work"

declare -A arguments=(
  [idx]="--input $work/idx --shard_bytes 2500"
  [images]="--train_csv $work/train.csv --validation_csv $work/validation.csv --labels $work/labels --shard_bytes 6000 --skip_bad_images"
  [translation]="--source $work/text.en --target $work/text.de --vocab_size 200 --vocab_sample 20000 --train_shards 7"
  [answers]="--train $work/squad.json --vocab_size 200 --vocab_sample 20000 --train_shards 5"
  [text]="--input $work/text.en --vocab_size 200 --vocab_sample 20000 --train_shards 7"
)
convert() { # OUTPUT: the words of a conversion
  # shellcheck disable=SC2206  # words
  command=(convert "$kind" ${arguments[$kind]} --output "$1" --seed 3)
}
for kind in idx images translation answers text; do
  convert "$work/one"
  work_on "$kind" "$tenon" "${command[@]}"
  expected=$(contents "$work/one") expected_counts=$(counts "$work/out")
  rm -rf "$work/one"
  [ "$kind" != images ] || grep -q 'left out [0-9]* (bad images)' "$work/out" || complain 'images: none was bad'
  for n in 2 3; do
    convert "$work/several"
    work_on "$kind, $n processes" together $n "${command[@]}"
    same "$kind, $n processes" "$work/several"
  done
  # Parts in any order, one of them twice, one after another or at once.
  if [ "$kind" != text ]; then
    convert "$work/parts"
    for part in 1 0 1; do work_on "$kind, part $part" "$tenon" "${command[@]}" --part $part/3; done
    [ -z "$(find "$work/parts" -maxdepth 1 -type f)" ] || complain "$kind: parts are seen before they are a whole"
    work_on "$kind, part 2" "$tenon" "${command[@]}" --part 2/3
    work_on "$kind, merge" "$tenon" "${command[@]}" --merge
    same "$kind, parts" "$work/parts"
    for part in 0 1 2; do "$tenon" "${command[@]}" --part $part/3 >/dev/null 2>"$work/err-$part" & done
    wait
    cat "$work"/err-[012] >"$work/err"
    [ ! -s "$work/err" ] || complain "$kind, parts at once: $(cat "$work/err")"
    work_on "$kind, merge" "$tenon" "${command[@]}" --merge
    same "$kind, parts at once" "$work/parts"
    # What a part left undone, merging makes.
    work_on "$kind, one part" "$tenon" "${command[@]}" --part 2/3
    work_on "$kind, merge of one" "$tenon" "${command[@]}" --merge
    same "$kind, one part of three" "$work/parts"
  fi
done

# Killed once so many units are finished, and run again by another number of processes.
kill_one() { # UNITS OUTPUT
  mpirun -q -n 2 --bind-to none "$tenon" "${command[@]}" >"$work/out" 2>&1 &
  local launcher=$! found
  while kill -0 $launcher 2>/dev/null && [ "$(find "$2/.tenon-parts" -name '*.done' 2>/dev/null | wc -l)" -lt "$1" ]; do :; done
  found=$(pgrep -P $launcher -x tenon | sed -n "$((1 + $1 % 2))p")
  [ -z "$found" ] || kill -9 "$found" 2>/dev/null
  wait $launcher && return 1
  [ -n "$found" ]
}
for kind in images translation; do
  convert "$work/one"
  work_on "$kind" "$tenon" "${command[@]}"
  expected=$(contents "$work/one") expected_counts=$(counts "$work/out")
  rm -rf "$work/one"
  kills=0
  for units in 1 2 5 8; do
    convert "$work/killed"
    kill_one $units "$work/killed" && kills=$((kills + 1))
    [ ! -e "$work/killed/info.json" ] || rm -rf "$work/killed"  # it was too late
    [ -z "$(find "$work/killed" -maxdepth 1 -type f ! -name '.*' 2>/dev/null)" ] || complain "$kind: a kill left $(ls -A "$work/killed")"
    work_on "$kind, after a kill" together 3 "${command[@]}"
    same "$kind, killed with $units done" "$work/killed"
  done
  [ $kills -gt 0 ] || complain "$kind: no kill came in time"
  echo "$kind: $kills kills"
done
# A part that is killed leaves what it has made; so does one that is asked to end. One process goes on with them as well.
kind=images
convert "$work/parts"
work_on 'part' "$tenon" "${command[@]}" --part 0/2
rm -rf "$work/one"
work_on 'images' "$tenon" "${command[@]/parts/one}"
expected=$(contents "$work/one") expected_counts=$(counts "$work/out")
first=$(find "$work/parts/.tenon-parts" -name 'train-00000-of-*' ! -name '*.done' -printf '%i %T@')
work_on 'merge' "$tenon" "${command[@]}"
[ "$(find "$work/parts" -name 'train-00000-of-*' -printf '%i %T@')" = "$first" ] || complain 'a part was made again'
rm -rf "$work/parts"

# Mistakes: one line, from one process, and nothing to be seen.
refused() { # CODE PATTERN COMMAND..
  local code=$1 pattern=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  local found=$?
  [ "$found" -eq "$code" ] || complain "$*: exit code $found, expected $code: $(cat "$work/err")"
  [ "$(grep -c 'tenon' "$work/err")" -eq 1 ] || complain "$*: expected one line, found: $(cat "$work/err")"
  grep -qF -e "$pattern" "$work/err" || complain "$*: expected '$pattern' in: $(cat "$work/err")"
}
bad=("${command[@]/--skip_bad_images/--noskip_bad_images}")
refused 1 '.png' together 2 "${bad[@]}"
[ -z "$(find "$work/parts" -maxdepth 1 -type f 2>/dev/null)" ] || complain "a failure left $(ls -A "$work/parts")"
work_on 'after a failure' together 2 "${command[@]}"
same 'after a failure' "$work/parts"
refused 2 'expected I/N' "$tenon" "${command[@]}" --part 3/3
refused 2 'exclude each other' "$tenon" "${command[@]}" --part 1/3 --merge
refused 2 'for a process alone' together 2 "${command[@]}" --part 1/3
refused 1 'expected parts of a conversion, found none' "$tenon" "${command[@]}" --merge
kind=text
convert "$work/parts"
refused 1 'without parts' "$tenon" "${command[@]}" --part 1/3
kind=images
convert "$work/parts"
work_on 'part' "$tenon" "${command[@]}" --part 0/2
refused 1 'parts of a conversion with other arguments or other input' "$tenon" "${command[@]}" --part 1/2 --seed 4
refused 1 'parts of a conversion with other arguments or other input' together 2 "${command[@]}" --seed 4
touch "$work/images/3.png"
refused 1 'parts of a conversion with other arguments or other input' "$tenon" "${command[@]}" --merge
# Two jobs into one directory, while one has it.
exec 9<"$work/parts"
flock -n 9 || complain 'flock: the directory is locked'
refused 1 'is in use by another conversion' together 2 "${command[@]}"
refused 1 'is in use by another conversion' "$tenon" "${command[@]}" --part 1/2
exec 9<&-
work_on 'in the place of parts' together 2 "${command[@]}" --overwrite
expected_counts=$(counts "$work/out")
same 'in the place of parts' "$work/parts"
refused 1 'that mpirun started: no transport/' env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 TENON_TRANSPORT=none "$tenon" "${command[@]}"
finish
