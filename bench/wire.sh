#!/bin/bash
# What a slow wire leaves of a step of two processes, each on a host of its own: network namespaces, between which tc shapes the
# traffic. As root. Nothing else should run here meanwhile.
#   bench/wire.sh [CASE..]           cases of `tenon bench step`; without any: resnet18 transformer_small transformer_base
# RATE=1gbit is the wire's in each direction, ROUNDS=3 the measurements of each kind, in turn, of which the least count. TENON is the
# program, FLAGS what its steps get, as in FLAGS="--all_reduce_dtype bf16". The columns:
#   compute     the step through the memory of one host, without a wire
#   carry       what cores here do for the wire in a step: the kernels of both hosts, and the processes, which add up what comes. Where hosts
#               have no core to spare, as these, it is more to compute
#   exchange    the sum of its gradients over the wire, alone
#   one by one  compute + exchange: a step that overlapped nothing
#   step        what it takes
#   bound       the longer of compute + carry and exchange, and 15 % more
set -euo pipefail
[[ ${1:-} != -* ]] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
hosts=$here/../tests/integration/hosts.sh tenon=$(realpath "${TENON:-$here/../build/release/bin/tenon}") rate=${RATE:-1gbit}
read -r -a flags <<<"${FLAGS:-}"
[ $# -gt 0 ] || set -- resnet18 transformer_small transformer_base
name=wire$$
why=$("$hosts" up $name 2 "$rate" 2>&1) || { echo "wire: $why" >&2; exit 1; }
trap '"$hosts" down $name' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

value() { perl -MJSON::PP -e 'local $/; my @lines = split /\n/, <STDIN>; print decode_json($lines[-1])->{$ARGV[0]}' "$1"; }
inside() { mpirun -q -n 2 --bind-to none "$tenon" bench "$@" --json; }
across() {
  "$hosts" run $name-0 mpirun -q -n 2 --bind-to none --host 10.77.0.1,10.77.0.2 --mca btl tcp,self --mca btl_tcp_if_include net \
    --mca oob_tcp_if_include net --mca plm_rsh_no_tree_spawn 1 --mca plm_rsh_agent "$hosts shell $name" "$tenon" bench "$@" --json
}
exchange() { across exchange --megabytes "$megabytes" --rounds "$1"; }
# Milliseconds that all cores have worked so far.
worked() { awk -v tick="$(getconf CLK_TCK)" '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8) * 1000 / tick }' /proc/stat; }
# Of each core, for one exchange: what twenty more of them add to a job.
carry() {
  local start few many
  start=$(worked)
  exchange 4 >/dev/null
  few=$(worked)
  exchange 24 >/dev/null
  many=$(worked)
  perl -e 'my ($start, $few, $many, $cores) = @ARGV; printf "%.1f", (($many - $few) - ($few - $start)) / 20 / $cores' "$start" "$few" "$many" "$(nproc)"
}

echo "two hosts, $rate between them, one thread each${FLAGS:+, $FLAGS}"
printf '%-20s %9s %10s %8s %11s %11s %9s %9s %10s\n' case 'MB a step' 'compute ms' 'carry ms' 'exchange ms' 'one by one' 'step ms' 'bound ms' step/bound
for case in "$@"; do
  step=(step "$case" --threads 1 --device cpu --max_seconds 5 "${flags[@]}")
  megabytes=
  times=()
  for ((round = 0; round < ${ROUNDS:-3}; ++round)); do
    one=$(inside "${step[@]}")
    [[ " ${flags[*]-} " == *" bf16 "* ]] && bytes=2 || bytes=4
    megabytes=${megabytes:-$(perl -e 'print $ARGV[0] * $ARGV[1] * 1e-6' "$(value parameters <<<"$one")" "$bytes")}
    times+=("$(value min_ms <<<"$one")" "$(exchange 5 | value min_ms)" "$(across "${step[@]}" | value min_ms)" "$(carry)")
  done
  perl -e '
    use List::Util qw(min max);
    my ($case, $megabytes, @times) = @ARGV;
    my ($compute, $exchange, $step, $carry) = map { my $kind = $_; min(map { $times[4 * $_ + $kind] } 0 .. @times / 4 - 1) } 0 .. 3;
    my $bound = 1.15 * max($compute + $carry, $exchange);
    printf("%-20s %9.1f %10.1f %8.1f %11.1f %11.1f %9.1f %9.1f %10.2f\n", $case, $megabytes, $compute, $carry, $exchange, $compute + $exchange,
           $step, $bound, $step / $bound)' "$case" "$megabytes" "${times[@]}"
done
