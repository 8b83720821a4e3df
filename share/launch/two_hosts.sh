#!/bin/bash
# Training on several machines that ssh reaches, without a scheduler. Any tenon command:
#   two_hosts.sh HOSTFILE train fashion --data_dir /shared/data --model_dir /shared/model
#
# HOSTFILE has a line for each machine, as in "node1 slots=1": slots processes run there, each with all threads that
# --threads gives it, so one a machine where nothing else is said. The data, and the model directory, stand at the same
# place on each; so does tenon, with its package tenon-mpi.
#   TENON=/path/of/tenon      which to run
#   NETWORK=10.0.0.0/24       the network, or an interface, that they reach each other by; else Open MPI tries all
# What Open MPI reads besides is passed on, as in OMPI_MCA_plm_rsh_args="-i KEY" for ssh.
set -eu
[ $# -ge 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
hostfile=$1
shift

flags=(--hostfile "$hostfile" --bind-to none)  # else each process has one core, whatever --threads says
flags+=(--mca btl "tcp,self,vader")            # vader: memory, within a machine
flags+=(-x "PATH")
[ -z "${NETWORK:-}" ] || flags+=(--mca btl_tcp_if_include "$NETWORK" --mca oob_tcp_if_include "$NETWORK")
# Where a machine or its network is lost, mpirun is to miss it as soon as Tenon does; by itself it waits for hours. And ssh, too.
flags+=(--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2)
export OMPI_MCA_plm_rsh_args="${OMPI_MCA_plm_rsh_args:-} -o ServerAliveInterval=2 -o ServerAliveCountMax=2"

exec mpirun "${flags[@]}" "${TENON:-tenon}" "$@"
