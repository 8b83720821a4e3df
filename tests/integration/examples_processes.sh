#!/bin/bash
# Loops of one's own, fit() and Estimators under mpirun, unchanged: two processes print, each, what one with two units does.
#   examples_processes.sh EXAMPLES PLUGINS     the directory of the programs, that of the backends
. "$(dirname "$0")/runner_lib.sh"
examples=$1
export TENON_PLUGIN_PATH=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# Those with few steps: each waits for messages, which takes long where other programs have the cores.
for name in custom_loop toy_estimator toy_keras; do
  program=$examples/$name
  "$program" --device cpu:units=2 --json >"$work/one" 2>"$work/err" || complain "$name, one process: $(cat "$work/err")"
  mpirun -q --bind-to none -n 2 "$program" --device cpu --json >"$work/two" 2>"$work/err" || complain "$name: $(cat "$work/err")"
  [ "$(sort -u "$work/two")" = "$(cat "$work/one")" ] && [ "$(wc -l <"$work/two")" -eq 2 ] ||
    complain "$name: two processes: $(cat "$work/two"); one with two units: $(cat "$work/one")"
done
finish
