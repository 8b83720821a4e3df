#!/bin/sh
# mpi.so in processes that a launcher starts, in one that none starts, and in jobs that end early.
#   transport.sh MPIEXEC TRANSPORT_TEST MPI.so MPI_SMALL_PARTS.so
set -u
launcher=$1 program=$2 library=$3 small_parts=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# More processes than cores, as root in a container: Open MPI wants to be told. Others do not read these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# A socket's name lies in it, and has little room.
export TMPDIR="$work"

complain() {
  echo "transport: $*" >&2
  cat "$work/log" >&2
  failed=1
}

# job LIBRARY SUITE EXIT_CODES
job() {
  TENON_TRANSPORT=$1 "$launcher" -n 3 "$program" --gtest_brief=1 --gtest_color=no --gtest_filter="$2.*" >"$work/log" 2>&1
  code=$?
  case " $3 " in *" $code "*) ;; *) complain "$2 on $1: expected exit code $3, found $code" ;; esac
}
job "$library" Job 0
grep -qv -e PASSED -e '^\[====' "$work/log" && complain "expected three lines of tests that passed, and no word of MPI's"
[ "$(grep -c PASSED "$work/log")" -eq 3 ] || complain "expected three processes that passed"
job "$small_parts" Job 0
job "$library" FaultLonger 0
job "$library" FaultShorter 0
job "$library" FaultAbort "7 9"  # MPICH's launcher tells that of the processes that it killed

# In nobody's job, even where this script is in one.
for name in $(env | sed -n 's/^\(\(OMPI_COMM\|PMI\|PMIX\|MV2\|SLURM\|PALS\|ALPS\)_[A-Z0-9_]*\)=.*/\1/p'); do unset "$name"; done
for test in IsInNoJob UnderALauncherOfAnotherKindIsRefused; do
  TENON_TRANSPORT=$library "$program" --gtest_brief=1 --gtest_color=no --gtest_filter="Alone.$test" >"$work/log" 2>&1 || complain "Alone.$test"
  grep -qv -e PASSED -e '^\[====' "$work/log" && complain "Alone.$test: expected no word of MPI's"
done
exit $failed
