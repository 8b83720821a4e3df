// The C that stands before every step.
#pragma once

namespace compiler {

constexpr char kPrelude[] = R"(#include <math.h>
#include <stdint.h>
#include <string.h>

/* NaN wins, then the first. A quotient of integers truncates and wraps; by 0 it is a. */
#define LARGER(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define QUOTIENT(a, b) ((b) == 0 ? (a) : (b) == -1 ? -(a) : (a) / (b))
/* A float as an integer of [low, high]: toward 0, saturating, NaN 0. The ends are exact as a float, or round outward. */
#define TO_INTEGER(x, type, low, high) ((x) != (x) ? 0 : (x) <= (low) ? (type)(low) : (x) >= (high) ? (type)(high) : (type)(x))

/* a . b in eight sums of a fixed order. */
#define INNER(T)                                                                              \
  static inline T inner_##T(const T* a, const T* b, long n) {                                 \
    T sum[8] = {0};                                                                           \
    long i = 0;                                                                               \
    for (; i + 8 <= n; i += 8)                                                                \
      for (int j = 0; j < 8; ++j) sum[j] += a[i + j] * b[i + j];                              \
    for (; i < n; ++i) sum[i % 8] += a[i] * b[i];                                             \
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])); \
  }
INNER(float) INNER(double)

/* Merges runs of 1, 2, 4, .. elements: order[i] becomes the place of the one that belongs at i. Stable; NaN is largest. */
#define SORT(T)                                                                                              \
  static inline int before_##T(T a, T b, int descending) {                                                   \
    return descending ? a > b || (a != a && b == b) : a < b || (b != b && a == a);                           \
  }                                                                                                          \
  static void sort_##T(const T* x, int32_t* order, int32_t* spare, long n, int descending) {                 \
    for (long i = 0; i < n; ++i) order[i] = (int32_t)i;                                                      \
    for (long width = 1; width < n; width *= 2) {                                                            \
      for (long low = 0; low < n; low += 2 * width) {                                                        \
        const long mid = low + width < n ? low + width : n, high = mid + width < n ? mid + width : n;        \
        for (long a = low, b = mid, to = low; to < high; ++to)                                               \
          spare[to] = b < high && (a == mid || before_##T(x[order[b]], x[order[a]], descending)) ? order[b++] : order[a++]; \
      }                                                                                                      \
      memcpy(order, spare, (size_t)n * sizeof *order);                                                       \
    }                                                                                                        \
  }
SORT(float) SORT(double) SORT(int32_t) SORT(int64_t)

static inline void philox(uint32_t c[4], uint64_t key) {
  uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; ++round, low += 0x9E3779B9u, high += 0xBB67AE85u) {
    const uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
    c[0] = (uint32_t)(q >> 32) ^ c[1] ^ low, c[1] = (uint32_t)q;
    c[2] = (uint32_t)(p >> 32) ^ c[3] ^ high, c[3] = (uint32_t)p;
  }
}

)";

}  // namespace compiler
