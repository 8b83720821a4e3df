#!/bin/bash
# The same bits on 1, 2 and 3 threads, be there as many cores or not, and by AVX2 as by AVX-512: every variable and all
# that optimizers keep after some steps of training, predictions, and the losses of the benchmark's cases.
#   runner_same_bits.sh TENON [small]     small: not the large ones, for builds that are slow
. "$(dirname "$0")/runner_lib.sh"
size=${2:-all}

has() {
  local flag
  for flag; do grep -qw "$flag" /proc/cpuinfo || return 1; done
}
isas=(baseline)
has avx2 fma bmi2 f16c && isas=(avx2)
has avx2 fma bmi2 f16c avx512f avx512vl avx512dq avx512bw && isas=(avx512 avx2)
every=()
for isa in "${isas[@]}"; do every+=("$isa 1" "$isa 2" "$isa 3"); done
some=("${isas[0]} 1" "${isas[0]} 3" "${isas[-1]} 2")

# on 'ISA THREADS' COMMAND..: the command there; what it prints is in $work/out.
on() {
  expect 0 '' env TENON_CPU_ISA="${1% *}" "$tenon" "${@:2}" --device cpu --threads "${1#* }" --json
}

# same NAME COMMAND..: what `value` prints is the same on all of ${runs[@]}.
same() {
  local name=$1 found first=
  shift
  for run in "${runs[@]}"; do
    on "$run" "$@"
    found=$(value)
    [ -n "$found" ] && [ "$found" != null ] || complain "$name on $run: nothing to compare in: $(cat "$work/out")"
    first=${first:-$found}
    [ "$found" = "$first" ] || complain "$name: $found on $run (ISA, threads), $first on ${runs[0]}; tenon $*"
  done
}

# trained MODEL FLAGS..: a hash of all variables.
trained() {
  value() { result hash; }
  same "train $1" train "$@" --synthetic --noevaluate
}
gray=(--height 28 --width 28 --channels 1 --num_classes 10)

runs=("${every[@]}")
trained mlp "${gray[@]}" --train_batch_size 64 --train_steps 50
trained mlp "${gray[@]}" --train_batch_size 33 --train_steps 20 --hidden 50,37
for rows in 1 3 4 5; do trained mlp "${gray[@]}" --train_batch_size "$rows" --train_steps 2 --hidden 512,301; done  # products of few rows
trained mlp --height 32 --width 32 --channels 1 --num_classes 10 --train_batch_size 16 --train_steps 5
trained fashion "${gray[@]}" --train_batch_size 64 --train_steps 10
trained fashion "${gray[@]}" --train_batch_size 37 --train_steps 5 --padding valid
trained flowers --height 31 --width 115 --train_batch_size 4 --train_steps 5
trained flowers --height 75 --width 75 --train_batch_size 5 --train_steps 3
trained resnet --train_batch_size 20 --train_steps 3
if [ "$size" = all ]; then
  runs=("${some[@]}")
  trained resnet --depth 50 --height 64 --width 64 --train_batch_size 4 --train_steps 1
fi

# Products of bf16, with the processor's instruction for them, where it has one, and without.
runs=("${some[@]}" "avx512_bf16 2")
trained mlp "${gray[@]}" --train_batch_size 33 --train_steps 20 --hidden 50,37 --dtype_policy mixed_bfloat16

# Predictions, whose batch norms are within the convolutions.
"$tenon" train resnet --synthetic --noevaluate --train_batch_size 16 --train_steps 40 --optimizer sgd \
  --learning_rate 0.001 --model_dir "$work/resnet" --device cpu >"$work/out" || complain "$(cat "$work/out")"
value() { cksum <"$work/rows.csv"; }
runs=("${every[@]}")
for batch in 1 15; do
  same "predict in batches of $batch" predict resnet --synthetic --model_dir "$work/resnet" --num_eval_images 30 \
    --eval_batch_size "$batch" --output "$work/rows.csv"
done

# The benchmark's cases, so many steps that a difference of gradients is in the loss.
timed() {  # STEPS CASE
  value() { result loss; }
  same "bench step $2" bench step "$2" --steps "$1" --rounds 1
  [ "$(result threads)" = "${run##* }" ] || complain "bench step $2: $(result threads) threads, expected ${run##* }"
}
cases=0
for name in $("$tenon" bench --help | sed -n '/^Cases:/,/^[A-Z].*:$/s/^  \([a-z0-9_]*\) .*/\1/p'); do
  runs=("${every[@]}")
  case $name in
    mlp_tiny) timed 1000 "$name" ;;
    mlp_mnist) timed 300 "$name" ;;
    mnist_cnn) timed 10 "$name" ;;
    flowers180 | flowers299 | resnet20 | transformer_small)
      runs=("${some[@]}")
      [ "$size" = small ] || timed 2 "$name" ;;
    resnet18 | resnet50 | transformer_base | transformer_base_d0) ;;  # minutes; the same kernels as those above
    mobilenet_v2 | efficientnet_b0 | vit_b_16) ;;                     # likewise
    *_infer | *_infer32) ;;                                           # have no loss
    *) complain "bench step $name: this test does not know how many steps it is worth" ;;
  esac
  cases=$((cases + 1))
done
[ "$cases" -gt 0 ] || complain "tenon bench --help lists no cases"

# Without fused multiply-adds the last bits are others: that shows that differences would be seen. Builds that are slow
# are compiled with too little optimisation to fuse any.
if [ "$size" = all ] && [ "${isas[0]}" != baseline ]; then
  on "${isas[0]} 2" train fashion "${gray[@]}" --synthetic --noevaluate --train_steps 2
  first=$(result hash)
  on "baseline 2" train fashion "${gray[@]}" --synthetic --noevaluate --train_steps 2
  [ "$(result hash)" != "$first" ] || complain "hash $first for baseline and for ${isas[0]}: was TENON_CPU_ISA heard?"
fi
finish
