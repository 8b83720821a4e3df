#!/bin/bash
# Less than the machine has: memory in a cgroup, threads, processes. Each run does its work with the same bits or ends with
# one line; none is killed, none aborts.
#   runner_limits.sh TENON SHIM
. "$(dirname "$0")/runner_lib.sh"
shim=$2
left_out=()

gray=(--synthetic --height 28 --width 28 --channels 1 --num_classes 10 --noevaluate)

# ended WHAT CODE: 0, or 1 with one line that says why. Anything else is a death by signal or an abort.
ended() {
  case $2 in
    0) return ;;
    1) [ "$(grep -cv '^works on ' "$work/err")" -eq 1 ] || complain "$1: expected one line, found: $(cat "$work/err")" ;;
    *) complain "$1: exit code $2: $(cat "$work/err")" ;;
  esac
}

echo '# memory in a cgroup: models from small to far too large'
# A cgroup of 256 MB, of whichever version can be made; its path is in $cgroup.
make_cgroup() {
  local base
  for base in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
    cgroup=$base/tenon-test-$$
    mkdir "$cgroup" 2>/dev/null || continue
    { echo 268435456 >"$cgroup/memory.max" || echo 268435456 >"$cgroup/memory.limit_in_bytes"; } 2>/dev/null && {
      [ ! -e "$cgroup/memory.swap.max" ] || echo 0 >"$cgroup/memory.swap.max"
      return
    }
    rmdir "$cgroup"
  done
  return 1
}
# Trains with two hidden layers of $1 in the cgroup; the exit code.
train_within() {  # HIDDEN [NAME=VALUE..]
  { (echo 0 >"$cgroup/cgroup.procs" && exec env "${@:2}" "$tenon" train mlp "${gray[@]}" --hidden "$1,$1" --train_batch_size 16 \
    --train_steps 2 --device cpu --json >"$work/out" 2>"$work/err"); } 2>/dev/null
}
if make_cgroup; then
  trap 'rmdir "$cgroup"; rm -rf "$work"' EXIT
  done_=0 refused=0
  for hidden in 500 1000 1500 2000 2500 3000 3500 4000 5000 6000 8000 12000; do
    train_within "$hidden"
    code=$?
    ended "hidden layers of $hidden in 256 MB" "$code"
    [ "$code" -eq 0 ] && done_=$((done_ + 1))
    [ "$code" -eq 1 ] && refused=$((refused + 1))
  done
  [ "$done_" -gt 1 ] || complain "256 MB: only $done_ models could be trained"
  [ "$refused" -gt 1 ] || complain "256 MB: only $refused models were refused"
  grep -qi 'memory' "$work/err" || complain "a refusal does not speak of memory: $(cat "$work/err")"
  (echo 0 >"$cgroup/cgroup.procs" && exec "$tenon" devices) >"$work/out"
  grep -A1 '^cpu ' "$work/out" | grep -q '256.*MiB\|268.* MB\|0.25 GiB' || complain "devices in 256 MB: $(cat "$work/out")"
  # Control: not knowing of the cgroup, it is killed.
  train_within 8000 LD_PRELOAD="$shim" TEST_NO_CGROUPS=1
  code=$?
  [ "$code" -eq 137 ] || complain "control: exit code $code without a look at the cgroup, expected 137"

  echo '# memory in a cgroup: records and images that take more than there is, alone or together'
  within() { # [NAME=VALUE..] COMMAND..: as expect, in the cgroup
    { (echo 0 >"$cgroup/cgroup.procs" && exec env "$@" >"$work/out" 2>"$work/err"); } 2>/dev/null
  }
  killed() { # COMMAND..: the control
    within LD_PRELOAD="$shim" TEST_NO_CGROUPS=1 "$@"
    code=$?
    [ "$code" -eq 137 ] || complain "control: $*: exit code $code without a look at the cgroup, expected 137"
  }
  # One record of 512 MiB in a file that takes no room.
  mkdir "$work/sparse" "$work/png"
  printf '\0\0\0\x20\0\0\0\0\xd8\x19\x3e\xb2' >"$work/sparse/train-00000-of-00001"
  truncate -s $((12 + (512 << 20) + 4)) "$work/sparse/train-00000-of-00001"
  lacks="at byte 0: no memory for a record: it takes "
  expect 1 "$lacks" within "$tenon" inspect records "$work/sparse/train-00000-of-00001"
  expect 0 '' within "$tenon" inspect records "$work/sparse/train-00000-of-00001" --skip_corrupt
  grep -q '^0 records, .* 1 damaged' "$work/out" || complain "the record is not counted: $(cat "$work/out")"
  killed "$tenon" inspect records "$work/sparse/train-00000-of-00001"
  data=(--data_dir "$work/sparse" --device cpu --train_steps 2 --train_batch_size 1 --noevaluate)
  expect 1 'record at offset 0: no memory for a record' within "$tenon" train mlp "${data[@]}" --json
  killed "$tenon" train mlp "${data[@]}"

  # Images of 60 MB each: one thread after another has room for its own.
  base64 -d <<<'H4sIAAAAAAACA5Pv5mAAASbmt3f26zUHShx4GLx2yawtqocOJG3cwdTtsnRp7Cy3rGMZG27fylDJ0TvwgCvixk0ettn2k12SDiUYLPz1lSnmQPm8dGt1y9PW+yx/ym6dlX30kI9iS0DOldWvFaf4O8+wOdPPkyfm56bvVFGZG6L9du/y7a990gpu2v6z/X9CnR9oe0PIa7tvm04aKZz5+j48Whoo4nArd7r3zodBD6qLtyXJAAUmVLF7dz8+LM80f+7dOYUgFa98a231+csZzf+e7txWCRax5WAD0SEszEBKQa+JEUgJiB8EebCjJwFEHXE1AFGPlCRAVKEgD8j2ExBtMWWnlm5MEZ/w++Ue8c2MP66HPs2zS1lWvX3rkysrTFena0f/rn/2UmuS/BMGBgB2YUeBNwEAAA==' | gzip -dc | gzip -dc >"$work/png/a.png"
  for i in $(seq 24); do
    ln "$work/png/a.png" "$work/png/$i.png"
    echo "$i.png,$((i % 2))" >>"$work/png/train.csv"
  done
  printf '0\n1\n' >"$work/png/labels.txt"
  convert=(convert images --train_csv "$work/png/train.csv" --labels "$work/png/labels.txt" --threads 16)
  expect 0 '' within "$tenon" "${convert[@]}" --output "$work/png/data"
  killed "$tenon" "${convert[@]}" --output "$work/png/more"
  for channels in 1 3; do
    train=(train flowers --data_dir "$work/png/data" --device cpu --train_steps 1 --train_batch_size 16 --noevaluate
      --height 28 --width 28 --channels $channels --threads 16)
    expect 0 '' within "$tenon" "${train[@]}" --json
    killed "$tenon" "${train[@]}"
  done
else
  left_out+=("memory: no cgroup can be made here, which takes root")
fi

echo '# a share of time in a cgroup'
# Half a core's; its path is in $cores.
make_share() {
  local base
  for base in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
    cores=$base/tenon-share-$$
    mkdir "$cores" 2>/dev/null || continue
    { echo '50000 100000' >"$cores/cpu.max" || echo 50000 >"$cores/cpu.cfs_quota_us"; } 2>/dev/null && return
    rmdir "$cores"
  done
  return 1
}
bench=(bench step mlp_tiny --steps 1 --rounds 1 --device cpu --json)
if [ "$(nproc)" -gt 1 ] && make_share; then
  (echo 0 >"$cores/cgroup.procs" && exec "$tenon" "${bench[@]}") >"$work/out" 2>"$work/err"
  [ "$(result threads)" = 1 ] || complain "half a core: $(result threads) threads, expected 1: $(cat "$work/err")"
  rmdir "$cores"
  expect 0 '' "$tenon" "${bench[@]}"
  [ "$(result threads)" != 1 ] || complain "without the cgroup: 1 thread, expected more"
else
  left_out+=("cores: no cgroup with a share of time can be made here")
fi

echo '# threads that the system does not give'
make_idx "$work/idx" 64 16
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data"
train=(train mlp --data_dir "$work/data" --device cpu --train_batch_size 16 --train_steps 5 --hidden 32 --json)
expect 0 '' "$tenon" "${train[@]}"
hash=$(result hash)
with_threads() {  # N COMMAND..
  LD_PRELOAD=$shim TEST_THREADS=$1 "$tenon" "${@:2}" --threads 4 >"$work/out" 2>"$work/err"
}

echo '# processes and threads in a cgroup'
# Room for the program and what a backend is tried in; the pool gets what is left. Its path is in $pids.
make_pids() {
  local base
  for base in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    pids=$base/tenon-pids-$$
    mkdir "$pids" 2>/dev/null || continue
    echo 4 2>/dev/null >"$pids/pids.max" && return
    rmdir "$pids"
  done
  return 1
}
if make_pids; then
  for device in cpu auto; do
    (echo 0 >"$pids/cgroup.procs" && exec "$tenon" "${train[@]/#cpu/$device}" --threads 16) >"$work/out" 2>"$work/err" ||
      complain "4 processes, $device: exit code $?: $(cat "$work/err")"
    [ "$(result hash)" = "$hash" ] || complain "4 processes, $device: hash $(result hash), expected $hash"
  done
  rmdir "$pids"
else
  left_out+=("processes: no cgroup with a number of processes can be made here")
fi

for n in 0 1 2 3 4 5; do
  with_threads $n "${train[@]}" || complain "$n more threads: exit code $?: $(cat "$work/err")"
  [ "$(result hash)" = "$hash" ] || complain "$n more threads: hash $(result hash), expected $hash"
  said="works on $((n + 1)) threads, expected 4: the system gives no more (Resource temporarily unavailable)"
  [ "$n" -ge 3 ] || grep -qxF "$said" "$work/err" || complain "$n more threads: expected '$said', found: $(cat "$work/err")"
  [ "$(wc -l <"$work/err")" -eq $((n < 3)) ] || complain "$n more threads: $(cat "$work/err")"
  rm -rf "$work/again"
  for command in "convert idx --input $work/idx --output $work/again" \
    "bench step mlp_tiny --steps 3 --rounds 1 --device cpu" \
    "bench op dot --shapes 64x64x64 --seconds 0.01 --device cpu" \
    "preflight mlp --sweep batch=16..64 --tpu v3-8"; do
    # shellcheck disable=SC2086
    with_threads $n $command
    ended "$command, $n more threads" $?
  done
done

echo '# processes that the system does not give'
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
  chmod 755 "$work"
  for processes in 1 2 3 4 6; do
    (
      ulimit -u $processes
      exec setpriv --reuid=65534 --clear-groups "$tenon" "${train[@]}" --threads 4
    ) >"$work/out" 2>"$work/err"
    ended "ulimit -u $processes" $?
    [ -z "$(result hash)" ] || [ "$(result hash)" = "$hash" ] || complain "ulimit -u $processes: hash $(result hash), expected $hash"
  done
else
  left_out+=("ulimit -u: takes root, who becomes another user")
fi
for why in "${left_out[@]}"; do echo "left out: $why"; done
finish
