#!/bin/bash
# Training by several processes: mpirun -n N tenon train. N processes have the bits of one with N units; what fails in one ends all,
# with one line; a run that was killed goes on with any number of processes.
#   runner_processes.sh TENON FOLDER_OF_TRANSPORT_MUTE [sanitized]     a sanitizer takes memory of its own
. "$(dirname "$0")/runner_lib.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
together() { # N ARGS..
  local n=$1
  shift
  mpirun -q -n "$n" --bind-to none "${small_files[@]}" "$tenon" "$@"
}
small_files=()  # what has processes share no memory
# same_bits PROCESSES UNITS ARGS..: the hash of a training; the first is the one to be like.
expected=
same_bits() {
  local processes=$1 units=$2
  shift 2
  local command=(train "$@" --device "cpu:units=$units" --threads 1 --json)
  if [ "$processes" = 1 ]; then "$tenon" "${command[@]}"; else together "$processes" "${command[@]}"; fi >"$work/out" 2>"$work/err" ||
    complain "$processes x $units $*: $(cat "$work/err")"
  local hash
  hash=$(result hash)
  expected=${expected:-$hash}
  [ -n "$hash" ] && [ "$hash" = "$expected" ] || complain "$processes processes of $units units, $*: hash '$hash', expected '$expected'"
}

make_idx "$work/idx" 256 90
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json
data=(--data_dir "$work/data" --train_batch_size 16)
for model in fashion "transformer --param_set tiny --num_hidden_layers 1 --synthetic --noevaluate --static_batch --max_length 16 --batch_size 512"; do
  expected=
  # shellcheck disable=SC2086  # words
  for shape in "1 4" "2 2" "4 1"; do
    case $model in
      fashion) same_bits $shape fashion "${data[@]}" --train_steps 12 ;;
      *) same_bits $shape $model --train_steps 4 ;;
    esac
  done
done

# Through memory of the one machine; by messages where that may not be had: the same bits.
together 2 bench exchange --megabytes 1 --rounds 2 --json >"$work/out" 2>"$work/err" || complain "bench exchange: $(cat "$work/err")"
[ "$(result through)" = 'shared memory' ] || complain "expected sums through shared memory: $(cat "$work/out")"
small_files=(prlimit --fsize=1000000)
together 2 bench exchange --megabytes 1 --rounds 2 --json >"$work/out" 2>"$work/err" || complain "bench exchange: $(cat "$work/err")"
[ "$(result through)" = messages ] || complain "expected sums by messages: $(cat "$work/out")"
expected=
# Enough for a copy of cpu.so, and for no memory of four processes; a sanitized cpu.so is larger than that.
by_messages=(prlimit --fsize=16000000)
[ "${3-}" != sanitized ] || by_messages=()
for through in memory messages; do
  small_files=()
  [ "$through" = memory ] || small_files=("${by_messages[@]}")
  same_bits 4 1 mlp --hidden 256 --synthetic --train_batch_size 16 --train_steps 3 --noevaluate
done
small_files=()

# Gradients in bf16 between them: as between units of one process.
expected=
small=(mlp --hidden 256 --synthetic --train_batch_size 16 --train_steps 3 --noevaluate)
same_bits 1 4 "${small[@]}"
whole=$expected expected=
for shape in "1 4" "2 2" "4 1"; do
  # shellcheck disable=SC2086  # words
  same_bits $shape "${small[@]}" --all_reduce_dtype bf16
done
[ "$expected" != "$whole" ] || complain "gradients in bf16 have the hash of those in f32, $whole"

# What the optimizer keeps is dealt over them: the bits, and the files, of those that keep all of it; and it goes on with any number.
for more in "" "--optimizer nadam --global_clipnorm 0.1 --train_batch_size 12"; do
  expected=
  # shellcheck disable=SC2086  # words
  for shape in "1 3" "3 1" "1 2" "2 1"; do
    [ "$shape" != "1 2" ] || expected=
    # The first of each pair keeps all, the second a part.
    parts=()
    [ "${shape% 1}" = "$shape" ] || parts=(--shard_optimizer_state)
    same_bits $shape "${small[@]}" --train_batch_size 12 $more "${parts[@]}"
  done
done
small+=(--train_batch_size 12)
saving=("${small[@]}" --save_checkpoints_steps 2)
expected=
same_bits 1 3 "${saving[@]}" --model_dir "$work/whole"
same_bits 3 1 "${saving[@]}" --model_dir "$work/parts" --shard_optimizer_state
for file in model.ckpt-2 model.ckpt-3; do
  for part in index data-00000-of-00001; do
    cmp -s "$work/whole/$file.$part" "$work/parts/$file.$part" || complain "$file.$part of a sharded training differs"
  done
done
expected=
same_bits 1 2 "${saving[@]}" --train_steps 5 --model_dir "$work/whole"
same_bits 2 1 "${saving[@]}" --train_steps 5 --model_dir "$work/parts" --shard_optimizer_state
small_files=("${by_messages[@]}")
expected=
same_bits 1 3 "${small[@]}"
same_bits 3 1 "${small[@]}" --shard_optimizer_state
small_files=()

# One writer, one log; every example is evaluated once; a row of predictions for each.
together 2 train fashion "${data[@]}" --device cpu --model_dir "$work/model" --train_steps 6 --save_checkpoints_steps 3 --json \
  >"$work/out" 2>"$work/err" || complain "train: $(cat "$work/err")"
[ "$(grep -c '"event": "result"' "$work/out")" = 1 ] || complain "results: $(cat "$work/out")"
grep -q '"event": "evaluation", .*"examples": 90,' "$work/out" || complain "evaluated: $(cat "$work/out")"
two=$(result hash)
together 3 evaluate fashion --data_dir "$work/data" --model_dir "$work/model" --device cpu --json >"$work/out" 2>"$work/err" ||
  complain "evaluate: $(cat "$work/err")"
[ "$(result examples)" = 90 ] || complain "examples $(result examples), expected 90"
together 2 predict fashion --data_dir "$work/data" --model_dir "$work/model" --device cpu --output "$work/rows.csv" --json \
  >"$work/out" 2>"$work/err" || complain "predict: $(cat "$work/err")"
[ "$(wc -l <"$work/rows.csv")" = 91 ] || complain "predicted $(wc -l <"$work/rows.csv") lines, expected 91"

# It goes on in as many processes as one likes, with the example behind the last one.
together 4 train fashion "${data[@]}" --device cpu --model_dir "$work/again" --train_steps 3 --noevaluate --json >"$work/out" 2>"$work/err" ||
  complain "first half: $(cat "$work/err")"
together 2 train fashion "${data[@]}" --device cpu:units=2 --model_dir "$work/again" --train_steps 6 --noevaluate --json >"$work/out" \
  2>"$work/err" || complain "second half: $(cat "$work/err")"
four=$(result hash)
expected=
same_bits 1 4 fashion "${data[@]}" --train_steps 3 --noevaluate --model_dir "$work/alone"
expected=$four
same_bits 1 4 fashion "${data[@]}" --train_steps 6 --noevaluate --model_dir "$work/alone"
[ -n "$two" ] || complain "no hash of two processes"

# Profiles: a file of each process, named so, where exchanges lie beside what is computed meanwhile.
together 2 train mlp --hidden 2048,2048,2048,2048 --synthetic --train_batch_size 128 --train_steps 8 --noevaluate --threads 1 --device cpu \
  --profile "$work/profile" --json >"$work/out" 2>"$work/err" || complain "profile: $(cat "$work/err")"
[ "$(grep -c '"event": "profile"' "$work/out")" = 1 ] || complain "expected one line of a profile: $(cat "$work/out")"
[ "$(find "$work/profile/plugins/profile" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ] || complain "expected one run: $(ls -R "$work/profile")"
for rank in 0 1; do
  for kind in xplane.pb trace.json.gz; do
    ls "$work/profile/plugins/profile"/*/rank_${rank}_*."$kind" >/dev/null 2>&1 || complain "no $kind of process $rank: $(ls -R "$work/profile")"
  done
  found=$(exchanges_in "$work/profile/plugins/profile"/*/rank_${rank}_*.trace.json.gz)
  [ "$found" = "rank $rank ($(hostname)): /host:CPU: exchanges beside ops" ] || complain "the trace of process $rank shows: $found"
done

# A loss that is not finite: what one process with as many units says of data and checkpoints, and the same files.
alike() { # MODEL ARGS..: a training that fails
  local line
  rm -rf "$work/alone" "$work/shared"
  "$tenon" train "$@" --noevaluate --threads 1 --device cpu:units=2 --model_dir "$work/alone" >"$work/out" 2>"$work/err" &&
    complain "$*: expected a failure"
  line=$(sed "s#$work/alone#DIR#" "$work/err")
  together 2 train "$@" --noevaluate --threads 1 --device cpu --model_dir "$work/shared" >"$work/out" 2>"$work/err" &&
    complain "$*: expected a failure of two processes"
  [ "$(sed "s#$work/shared#DIR#" "$work/err")" = "$line" ] || complain "expected '$line', found '$(cat "$work/err")'"
  diff -r -I "^last_preserved_timestamp\|^# crc32c" "$work/alone" "$work/shared" >"$work/out" || complain "files of two processes differ: $(cat "$work/out")"
}
alike mlp --hidden 32 --synthetic --train_batch_size 16 --train_steps 40 --save_checkpoints_steps 2 --optimizer sgd --learning_rate 1e4
ls "$work/shared" | grep -q '^diverged' || complain "nothing was set aside: $(ls "$work/shared")"
# Of the records of a table, one has a number that is none.
perl -e 'srand(1); print "a,b,y\n"; for (0 .. 199) { my ($a, $b) = (rand() - 0.5, rand() - 0.5); print "$a,$b,", $a + $b > 0 ? 1 : 0, "\n" }' >"$work/t.csv"
expect 0 '' "$tenon" convert table --input "$work/t.csv" --label y --validation "$work/t.csv" --output "$work/table" --json
perl -e '
  my @table = map { my $c = $_; $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8; $c } 0 .. 255;
  sub masked { my $c = 0xffffffff; $c = $table[($c ^ ord) & 255] ^ ($c >> 8) for split //, $_[0];
    $c ^= 0xffffffff; ((($c >> 15) | ($c << 17)) + 0xa282ead8) & 0xffffffff }
  local $/; open my $in, "<:raw", $ARGV[0]; my $all = <$in>; my $out = "";
  for (my ($at, $n) = (0, 0); $at < length $all; ++$n) {
    my $size = unpack "V", substr $all, $at, 4; my $record = substr $all, $at + 12, $size;
    substr($record, index($record, "\x0a\x08", index($record, "numbers")) + 2, 4) = pack "f", "nan" if $n == 70;
    $out .= substr($all, $at, 12) . $record . pack "V", masked($record); $at += 16 + $size;
  }
  open my $to, ">:raw", $ARGV[0]; print $to $out' "$work/table/train-00000-of-00001"
alike table --data_dir "$work/table" --train_batch_size 8 --train_steps 60 --save_checkpoints_steps 4
grep -q "feature 'numbers' is -*nan in .*; training goes on from" "$work/err" || complain "the feature is not named: $(cat "$work/err")"

# Mistakes: one line, from process 0.
refused() { # CODE PATTERN COMMAND.. ; "1 or 2" as mpirun gives the code of any process
  local code=$1 pattern=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  local found=$?
  [[ " $code " == *" $found "* ]] || complain "$*: exit code $found, expected $code: $(cat "$work/err")"
  [ "$(grep -c 'tenon' "$work/err")" -eq 1 ] || complain "$*: expected one line, found: $(cat "$work/err")"
  grep -qF -e "$pattern" "$work/err" || complain "$*: expected '$pattern' in: $(cat "$work/err")"
}
refused 1 'train batch size 15 must be divisible by number of replicas 2' \
  together 2 train fashion --data_dir "$work/data" --device cpu --train_batch_size 15 --train_steps 1
# Another build: the same program with another number of the linker's.
mkdir -p "$work/other/bin" && ln -s "$(cd "$(dirname "$tenon")/.." && pwd)/lib" "$work/other/lib"
perl -0777 -pe 's/(\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{4}/$1abcd/s or die "no build"' "$tenon" >"$work/other/bin/tenon"
chmod +x "$work/other/bin/tenon"
refused 1 'has the program of build 61626364' mpirun -q --bind-to none -n 1 "$tenon" train fashion "${data[@]}" --device cpu --train_steps 1 : \
  -n 1 "$work/other/bin/tenon" train fashion "${data[@]}" --device cpu --train_steps 1
refused 1 'has the arguments' mpirun -q --bind-to none -n 1 "$tenon" train fashion "${data[@]}" --device cpu --train_steps 1 : \
  -n 1 "$tenon" train fashion "${data[@]}" --device cpu --train_steps 2
other() { # COMMAND.. -- COMMAND..: processes that differ
  local first=()
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  mpirun -q --bind-to none -n 1 "${first[@]}" : -n 1 "${@:2}"
}
one=("$tenon" train fashion "${data[@]}" --device cpu --train_steps 1)
refused 1 'process 1 on '"$(hostname)"' has the arguments evaluate fashion --data_dir' other "$tenon" train fashion --data_dir "$work/data" --model_dir "$work/model" --device cpu -- \
  "$tenon" evaluate fashion --data_dir "$work/data" --model_dir "$work/model" --device cpu
refused 1 'has the arguments devices, process 0' other "${one[@]}" -- "$tenon" devices
refused 1 'has the arguments bench step resnet20' other "$tenon" bench step mlp_tiny --device cpu -- "$tenon" bench step resnet20 --device cpu
refused '1 or 2' 'process 1 on '"$(hostname)"': unknown flag --nonsense' other "${one[@]}" -- "${one[@]}" --nonsense
refused 2 'tenon train: unknown flag --nonsense' other "${one[@]}" --nonsense -- "${one[@]}" --nonsense
# The one that says the line may take its time, here until there is room in a pipe: the job ends after it.
slow_to_say() { # COMMAND.. -- COMMAND..: standard error of process 0 takes nothing for two seconds
  local first=()
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  mkfifo "$work/slow"
  exec 9<>"$work/slow"
  head -c 65536 /dev/zero | tr '\0' '\n' >&9
  # shellcheck disable=SC2016  # of the inner shell
  mpirun -q --bind-to none -n 1 bash -c 'exec "$@" 2>"$0"' "$work/slow" "${first[@]}" : -n 1 "${@:2}" 9>&- &
  local job=$!
  sleep 2
  exec 8<"$work/slow" 9>&-
  cat <&8 >&2
  exec 8<&-
  wait "$job"
}
refused 1 'has the arguments devices, process 0' slow_to_say "${one[@]}" -- "$tenon" devices
# The same place, which holds other data for one: to train on, or to evaluate.
for of in one two three; do mkdir "$work/$of"; done
make_idx "$work/idx-2" 300 90
make_idx "$work/idx-3" 256 60
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/one/data" --json
expect 0 '' "$tenon" convert idx --input "$work/idx-2" --output "$work/two/data" --json
expect 0 '' "$tenon" convert idx --input "$work/idx-3" --output "$work/three/data" --json
apart() { # WHERE ARGS..: process 1 is in another place than process 0
  local where=$work/$1 command=("$tenon" "${@:2}" --data_dir data --device cpu)
  mpirun -q --bind-to none -n 1 -wdir "$work/one" "${command[@]}" : -n 1 -wdir "$where" "${command[@]}"
}
refused 1 "process 1 on $(hostname) has the data 300 examples" apart two train fashion --train_batch_size 16 --train_steps 1
refused 1 "process 1 on $(hostname) has the data 60 examples" apart three evaluate fashion --model_dir "$work/model"
refused 1 "process 1 on $(hostname) has the data 60 examples" apart three predict fashion --model_dir "$work/model" --output "$work/none.csv"
# What bench step says of its exchange.
together 2 bench step mlp_tiny --all_reduce_dtype bf16 --rounds 1 --device cpu --json >"$work/out" 2>"$work/err" ||
  complain "bench step: $(cat "$work/err")"
refused 2 '--shard_optimizer_state is for several units or processes' "$tenon" bench step mlp_tiny --device cpu --shard_optimizer_state
# Sums in one have other last bits.
refused 1 'has the device cpu with 1 units of CPU, 0.1.0 (baseline), process 0' other "${one[@]}" -- env TENON_CPU_ISA=baseline "${one[@]}"
# One has no memory: to begin with, or for what it trains. One has no transport.
wide=("$tenon" train mlp --hidden 3072,3072 --synthetic --train_batch_size 16 --train_steps 2 --noevaluate --threads 1 --device cpu)
if [ "${3-}" != sanitized ]; then
  refused 1 'this is process 1 of 2 that mpirun started: ' other "${wide[@]}" -- prlimit --as=150000000 "${wide[@]}"
  refused 1 'this is process 0 of 2 that mpirun started: ' other prlimit --as=150000000 "${wide[@]}" -- "${wide[@]}"
  refused 1 "tenon train: process 1 on $(hostname): " other "${wide[@]}" -- prlimit --as=420000000 "${wide[@]}"
fi
refused 1 'this is process 1 of 2 that mpirun started: no transport/none.so' other "${one[@]}" -- env TENON_TRANSPORT=none "${one[@]}"
refused 1 'no transport/none.so' env TENON_TRANSPORT=none OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$tenon" train fashion \
  "${data[@]}" --device cpu --train_steps 1
# An op that the device lacks moves nowhere; one line says so.
lacking() {
  TENON_PLUGIN_PATH="$2/lacking:$(dirname "$tenon")/../lib/tenon" mpirun -x TENON_PLUGIN_PATH -q -n 2 --bind-to none "$tenon" train mlp \
    --synthetic --train_batch_size 16 --train_steps 1 --noevaluate --threads 1 --device lacking-cpu:add --soft_placement
}
if [ -e "$2/lacking/lacking-cpu.so" ]; then
  refused 1 "lacking on purpose; soft placement is for one process alone" lacking x "$2"
fi

# Nobody is met: a line that says who waited, and where, in good time.
begun=$SECONDS
alone=(env TENON_TRANSPORT=mute TENON_PLUGIN_PATH="$2" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0)
refused 1 "tenon: process 0 of 2 that mpirun started, on $(hostname), has not met the others for" \
  "${alone[@]}" "$tenon" train fashion "${data[@]}" --device cpu --train_steps 1
[ $((SECONDS - begun)) -le 11 ] || complain "nobody met: ended after $((SECONDS - begun)) s, expected 10"
refused 1 "has not met the others for 1 s" \
  "${alone[@]}" TENON_MEET_SECONDS=1 "$tenon" train fashion "${data[@]}" --device cpu --train_steps 1
refused 1 "TENON_MEET_SECONDS is '0', expected whole seconds" \
  "${alone[@]}" TENON_MEET_SECONDS=0 "$tenon" train fashion "${data[@]}" --device cpu --train_steps 1
finish
