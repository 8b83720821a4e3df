// Prints the GFLOP/s that THREADS cores reach with multiply-adds alone, the arithmetic limit, and by what: in f32 fused
// multiply-adds, in mixed_bfloat16 the widest products of bf16 that the processor has, named as in /proc/cpuinfo.
//   cc -O3 -march=native -pthread fma_peak.c -o fma_peak && ./fma_peak THREADS [float32|mixed_bfloat16]
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__AVX512BF16__) || defined(__AMX_BF16__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef __AVX512F__
enum { kBytes = 64 };
#else
enum { kBytes = 32 };
#endif
enum { kChains = 12, kRounds = 100, kMaxThreads = 1024 };
typedef float Vector __attribute__((vector_size(kBytes)));

// One way to multiply and add: `run` takes `steps` steps of `flops` each.
typedef struct {
  const char* name;
  int steps;
  double flops;
  float (*run)(int steps);
} Way;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// As many chains as hide the latency of two units; every step is one multiply-add of each.
static float fma_chains(int steps) {
  Vector a[kChains], m = {0}, c = {0};
  m += 0.999f;
  c += 1e-6f;
  for (int i = 0; i < kChains; ++i) a[i] = c + (float)i;
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) a[i] = a[i] * m + c;
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i) sum += a[i][0];
  return sum;
}
static const Way kFma = {"fma", 2000000, 2.0 * (kBytes / 4) * kChains, fma_chains};

#if defined(__AMX_BF16__)
// Tiles 0 to 5 are sums, [16, 16] of f32; 6 is [16, 32], 7 [32, 16] in pairs, of bf16. All of them are zeros.
static float bf16_chains(int steps) {
  static const struct {  // in memory, whole: the compiler believes that eight bytes are read
    unsigned char palette, start, reserved[14];
    unsigned short columns[16];  // bytes
    unsigned char rows[16];
  } config = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  _tile_loadconfig(&config);  // its tiles are zeros
  for (int step = 0; step < steps; ++step) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
  return 0;
}
static const Way kBf16 = {"amx_bf16", 100000, 2.0 * 16 * 16 * 32 * 6, bf16_chains};
#elif defined(__AVX512BF16__)
static float bf16_chains(int steps) {
  __m512 a[kChains];
  const __m512bh m = (__m512bh)_mm512_set1_epi32(0x3f803f80);
  for (int i = 0; i < kChains; ++i) a[i] = _mm512_set1_ps((float)i);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) a[i] = _mm512_dpbf16_ps(a[i], m, m);
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i) sum += _mm512_reduce_add_ps(a[i]);
  return sum;
}
static const Way kBf16 = {"avx512_bf16", 1000000, 2.0 * 32 * kChains, bf16_chains};
#endif

// Null: there is none of that name, or the system does not let us.
static const Way* way_of(const char* policy) {
  if (strcmp(policy, "float32") == 0) return &kFma;
  if (strcmp(policy, "mixed_bfloat16") != 0) return NULL;
#if defined(__AMX_BF16__)
  if (syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* tiles */) != 0) return NULL;
#endif
#if defined(__AMX_BF16__) || defined(__AVX512BF16__)
  return &kBf16;
#else
  return &kFma;
#endif
}

static pthread_barrier_t barrier;
static const Way* way;

static void* work(void* best) {
  volatile float sink = 0;
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&barrier);
    const double begun = now();
    sink += way->run(way->steps);
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
  way = way_of(count > 2 ? words[2] : "float32");
  if (!way) {
    fprintf(stderr,
            "fma_peak: expected float32 or, where the system lets programs use tiles, mixed_bfloat16; found '%s'\n",
            words[2]);
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
  printf("%.1f %s\n", way->flops * way->steps * threads / best[0] * 1e-9, way->name);
  return 0;
}
