// Functions that are compiled once more for wider instructions, and whether the machine has these.
#pragma once

#define TENON_INLINE [[gnu::always_inline]] inline
#if defined(__x86_64__) && defined(__clang__)  // has no optimize, and vectorises at -O2
#define TENON_AVX2 [[gnu::target("avx2,fma")]]
#define TENON_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")]]
#elif defined(__x86_64__) && defined(__GNUC__)
#define TENON_AVX2 [[gnu::target("avx2,fma"), gnu::optimize("O3")]]
#define TENON_AVX512 \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512"), gnu::optimize("O3")]]
#else
#define TENON_AVX2
#define TENON_AVX512
#endif

namespace tenon {

#if defined(__x86_64__) && defined(__GNUC__)
inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
inline bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
}
#else
inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
#endif

}  // namespace tenon
