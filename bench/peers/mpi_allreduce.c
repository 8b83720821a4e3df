// Prints the least time of MPI's own sum of MEGABYTES of floats over the processes of a job: the peer of `tenon bench exchange`.
//   mpicc -O2 mpi_allreduce.c -o mpi_allreduce && mpirun -n 2 --bind-to none ./mpi_allreduce [102]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 12 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double megabytes = argc > 1 ? atof(argv[1]) : 102;
  const size_t count = (size_t)(megabytes * 1e6 / sizeof(float));
  float* const own = malloc(count * sizeof(float));
  float* const sum = malloc(count * sizeof(float));
  if (!own || !sum || count == 0 || count > 1u << 30) {
    fprintf(stderr, "mpi_allreduce: expected 0.000004 to 4000 megabytes, and memory for twice as many, found %g\n", megabytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (size_t i = 0; i < count; ++i) own[i] = (float)(i % 7) + (float)rank;
  double least = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    MPI_Allreduce(own, sum, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begun;
    if (round == 0 || seconds < least) least = seconds;
  }
  if (rank == 0) printf("{\"peer\": \"MPI_Allreduce\", \"megabytes\": %g, \"min_ms\": %.3f}\n", megabytes, least * 1e3);
  MPI_Finalize();
  return 0;
}
