// Prints the GFLOP/s in f32 that THREADS cores reach with fused multiply-adds alone: the arithmetic limit.
//   cc -O3 -march=native -pthread fma_peak.c -o fma_peak && ./fma_peak THREADS
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
enum { kBytes = 64 };
#else
enum { kBytes = 32 };
#endif
enum { kChains = 12, kLanes = kBytes / 4, kSteps = 2000000, kRounds = 100, kMaxThreads = 1024 };
typedef float Vector __attribute__((vector_size(kBytes)));

static pthread_barrier_t barrier;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// As many chains as hide the latency of two units; every step is one multiply-add of each.
static float chains(float seed) {
  Vector a[kChains], m = {0}, c = {0};
  m += seed;
  c += 1e-6f;
  for (int i = 0; i < kChains; ++i) a[i] = c + (float)i;
  for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) a[i] = a[i] * m + c;
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i) sum += a[i][0];
  return sum;
}

static void* work(void* best) {
  volatile float sink = 0;
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&barrier);
    const double begun = now();
    sink += chains(0.999f);
    pthread_barrier_wait(&barrier);
    const double seconds = now() - begun;
    if (seconds < *(double*)best) *(double*)best = seconds;
  }
  return NULL;
}

int main(int count, char** words) {
  const int threads = count > 1 ? atoi(words[1]) : 1;
  if (threads < 1 || threads > kMaxThreads) {
    fprintf(stderr, "fma_peak: expected 1 to %d threads, found '%s'\n", kMaxThreads, words[1]);
    return 2;
  }
  static pthread_t others[kMaxThreads];
  static double best[kMaxThreads];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    best[i] = 1e30;
    if (pthread_create(&others[i], NULL, work, &best[i]) != 0) {
      fprintf(stderr, "fma_peak: cannot start thread %d of %d\n", i + 1, threads);
      return 1;
    }
  }
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  const double flops = 2.0 * kLanes * kChains * (double)kSteps * threads;
  printf("%.1f\n", flops / best[0] * 1e-9);
  return 0;
}
