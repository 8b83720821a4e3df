#!/bin/bash
# What `tenon preflight --cluster` predicts of processes on this machine, beside what they take: a case of `tenon bench step`, and the model
# that it is, with its flags. Nothing else should run here meanwhile.
#   bench/scaling.sh resnet20 resnet --depth 20
#   bench/scaling.sh mnist_cnn fashion
#   bench/scaling.sh transformer_small transformer --hidden_size 128 --num_heads 4 --filter_size 512 --num_hidden_layers 4 \
#     --vocab_size 8000 --max_length 32
# PROCESSES="1 2 4" says how many; each has one thread, so there should be as many cores. TENON is the program.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
tenon=${TENON:-$(dirname "$0")/../build/release/bin/tenon}
case=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
together() { mpirun -q -n "$1" --bind-to none "$tenon" "${@:2}" --json | tail -n 1; }
value() { perl -MJSON::PP -e 'my $r = decode_json(<STDIN>); print $r->{$ARGV[0]}' "$1"; }

# Of 2 processes each sends the other one half of the bytes and half of the sums: together twice the bytes.
megabytes=102
transfer=$(together 2 bench exchange --megabytes $megabytes | value min_ms)
message=$(together 2 bench exchange --megabytes 0.000004 --rounds 100 | value min_ms)
# What the step is made of, and what the processor computes while it moves a byte, from a profile; the time from steps without.
"$tenon" bench step "$case" --threads 1 --profile --max_seconds 5 --json >"$work/profile.json"
"$tenon" bench step "$case" --threads 1 --json >"$work/step.json"
batch=$(tail -n 1 "$work/step.json" | value batch_size)
most=1
for n in ${PROCESSES:-1 2 4}; do [ "$n" -le "$most" ] || most=$n; done
perl -e 'printf qq({"processes_per_host": %d, "inside": {"bytes_per_s": %g, "latency_s": %g},\n "step": {"min_ms": %s, "batch_size": %s, "backward_share": %.3g, "flops_per_byte": %.3g}}\n),
  $ARGV[0], 2 * $ARGV[1] * 1e6 / ($ARGV[2] * 1e-3), $ARGV[3] * 1e-3, @ARGV[4 .. 7]' "$most" $megabytes "$transfer" "$message" \
  "$(tail -n 1 "$work/step.json" | value min_ms)" "$batch" "$(tail -n 1 "$work/profile.json" | value backward_share)" \
  "$(tail -n 1 "$work/profile.json" | value flops_per_byte)" >"$work/cluster.json"
cat "$work/cluster.json"
"$tenon" preflight "$@" --cluster "$work/cluster.json" --batch "$batch" --json >"$work/predicted.json"
printf '%9s %14s %14s %9s\n' processes 'predicted ms' 'measured ms' measured/predicted
for n in ${PROCESSES:-1 2 4}; do
  if [ "$n" = 1 ]; then measured=$(tail -n 1 "$work/step.json" | value min_ms); else measured=$(together "$n" bench step "$case" --threads 1 | value min_ms); fi
  perl -MJSON::PP -e '
    my ($n, $measured) = @ARGV;
    for my $row (@{decode_json(<STDIN>)->{scaling}}) {
      printf("%9d %14.2f %14.2f %9.2f\n", $n, $row->{predicted_ms}, $measured, $measured / $row->{predicted_ms}) if $row->{processes} == $n;
    }' "$n" "$measured" <"$work/predicted.json"
done
