#include "bench/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr long kProducts = 2'000'000;         // in a round
constexpr size_t kFloats = 16 * 1024 * 1024;  // 64 MiB: more than caches hold, of each thread

double seconds_from(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

#if defined(__x86_64__)
// 12 chains hide the latency of 4 cycles at 2 or 3 a cycle; returned so that the work is not dropped.
__attribute__((target("avx512f"))) double multiply_512(long n) {
  __m512 sums[12], x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
  for (__m512& s : sums) s = x;
  for (long i = 0; i < n; ++i)
#pragma GCC unroll 12
    for (__m512& s : sums) s = _mm512_fmadd_ps(s, x, y);
  for (const __m512& s : sums) x = _mm512_add_ps(x, s);
  float lanes[16];
  _mm512_storeu_ps(lanes, x);
  return static_cast<double>(lanes[0]);
}
__attribute__((target("avx2,fma"))) double multiply_256(long n) {
  __m256 sums[12], x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
  for (__m256& s : sums) s = x;
  for (long i = 0; i < n; ++i)
#pragma GCC unroll 12
    for (__m256& s : sums) s = _mm256_fmadd_ps(s, x, y);
  for (const __m256& s : sums) x = _mm256_add_ps(x, s);
  return static_cast<double>(_mm256_cvtss_f32(x));
}
#endif

// Flops that `multiply` does for n.
struct Multiply {
  double (*run)(long n);
  double flops_of_one;
};

double multiply_plain(long n) {
  float sums[12];
  std::fill(std::begin(sums), std::end(sums), 0.5f);
  for (long i = 0; i < n; ++i)
    for (float& s : sums) s = s * 0.5f + 0.25f;
  float sum = 0;
  for (float s : sums) sum += s;
  return static_cast<double>(sum);
}

Multiply widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {multiply_512, 12 * 16 * 2};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {multiply_256, 12 * 8 * 2};
#endif
  return {multiply_plain, 12 * 2};
}

double read(const std::vector<float>& data) {
  double sums[8] = {};
  for (size_t i = 0; i + 64 <= data.size(); i += 64)  // a float of each line, and every line
    for (size_t k = 0; k < 4; ++k) sums[k] += static_cast<double>(data[i + 16 * k]);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// The best rate of all threads together: `work` done by each of them in one round.
template <class Work>
double best_rate(int threads, double work_of_one, Work work) {
  double best = 0;
  std::atomic<double> sink{0};
  for (int round = 0; round < kRounds; ++round) {
    const auto begun = Clock::now();
    std::vector<std::thread> others;
    try {
      for (int t = 1; t < threads; ++t) others.emplace_back([&, t] { sink = sink + work(t); });
    } catch (const std::exception&) {  // no more threads to be had: what fewer do is the limit
    }
    sink = sink + work(0);
    for (std::thread& t : others) t.join();
    best = std::max(best, work_of_one * static_cast<double>(others.size() + 1) / seconds_from(begun));
  }
  return best;
}

}  // namespace

double percent_of_limit(const MachineLimits& limits, double flops, double bytes, double ms) {
  if (ms <= 0) return 0;
  const double arithmetic = 1e5 * flops / limits.flops / ms, memory = 1e5 * bytes / limits.bytes / ms;
  return std::min(memory > 100 ? arithmetic : std::max(arithmetic, memory), 100.0);
}

MachineLimits measure_limits(int threads) {
  const Multiply multiply = widest();
  MachineLimits limits;
  limits.flops = best_rate(threads, multiply.flops_of_one * kProducts, [&](int) { return multiply.run(kProducts); });
  const std::vector<std::vector<float>> data(static_cast<size_t>(threads), std::vector<float>(kFloats, 1.0f));
  limits.bytes = best_rate(threads, static_cast<double>(kFloats * sizeof(float)),
                           [&](int t) { return read(data[static_cast<size_t>(t)]); });
  return limits;
}

}  // namespace tenon::runner
