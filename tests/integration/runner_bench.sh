#!/bin/bash
# Short benchmarks: what they print, not how fast they are.
#   runner_bench.sh TENON
. "$(dirname "$0")/runner_lib.sh"

# The result is the last line, and nothing is faster than the machine.
expect 0 '' "$tenon" bench step mlp_tiny --steps 20 --rounds 1 --device cpu --profile --json
[ "$(grep -c '"event": "result"' "$work/out")" = 1 ] || complain "results of bench step --profile: $(cat "$work/out")"
tail -n 1 "$work/out" | grep -q '^{"event": "result", ' || complain "bench step --profile ends with $(tail -n 1 "$work/out")"
grep -o '"limit_percent": [0-9.]*' "$work/out" | awk '$2 > 100 { bad = 1 } END { exit bad || NR == 0 }' ||
  complain "bench step --profile: limits $(grep -o '"limit_percent": [0-9.]*' "$work/out" | tr '\n' ' ')"
expect 0 '' "$tenon" bench step mlp_tiny --steps 20 --rounds 1 --device cpu --profile
sed -n 's/.* \([0-9]*\)%$/\1/p' "$work/out" | awk '$1 > 100 { exit 1 }' || complain "bench step --profile: $(cat "$work/out")"

# fit over the bare step, of one step a call and of several.
for steps in 1 32; do
  expect 0 '' "$tenon" bench fit mlp_tiny --steps_per_execution $steps --rounds 1 --device cpu --json
  awk -v fit="$(result fit_us)" -v bare="$(result bare_us)" -v over="$(result overhead_us)" \
    'BEGIN { d = fit - bare - over; exit !(fit > 0 && bare > 0 && d < 0.01 && -d < 0.01) }' ||
    complain "bench fit: $(cat "$work/out")"
  [ "$(result steps_per_execution)" = $steps ] && awk -v loss="$(result loss)" 'BEGIN { exit !(loss > 0 && loss < 1.2) }' ||
    complain "bench fit: $(cat "$work/out")"
done
# The input: its files are made once, and kept where a directory was named.
for case in photos photos_eval photos_verbs lines; do
  expect 0 '' "$tenon" bench input $case --data_dir "$work/made" --examples 64 --seconds 0.01 --rounds 1 --json
  awk -v rate="$(result examples_per_second)" 'BEGIN { exit !(rate > 0) }' || complain "bench input: $(cat "$work/out")"
done
[ "$(ls "$work/made" | grep -c '^train-')" = 16 ] && [ "$(wc -l <"$work/made/lines.txt")" = 6400 ] ||
  complain "bench input made $(ls "$work/made")"
expect 2 "no case 'photo'; did you mean 'photos'?" "$tenon" bench input photo
finish
