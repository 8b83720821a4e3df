#!/bin/bash
# Training under Slurm:
#   sbatch --nodes 4 slurm.sh train fashion --data_dir /shared/data --model_dir /shared/model
# One process on each machine, with all its cores. What is killed, by a lost machine or the end of its time, is begun again by
# Slurm and goes on from the checkpoint, with as many machines as there are then.
#SBATCH --job-name=tenon
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=tenon-%j.log
# Two minutes before the end of its time every process hears SIGTERM: it saves, and ends with exit code 143.
#SBATCH --signal=TERM@120
set -u

# --mpi=pmix is what Open MPI speaks with Slurm. --kill-on-bad-exit: where one process ends badly, all do. --wait: those that
# are left 10 s after the first ended in order. --cpu-bind=none: threads are not tied to one core.
srun --mpi=pmix --kill-on-bad-exit=1 --wait=10 --cpu-bind=none "${TENON:-tenon}" "$@"
code=$?
# Saved because its time was over: once more, with what is left to do.
if [ "$code" -eq 143 ] && [ -n "${SLURM_JOB_ID:-}" ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
