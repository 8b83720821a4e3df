#include "data/image/value_changes.h"

#include <algorithm>
#include <cmath>

#include "data/image/wide.h"

namespace tenon {
namespace {

constexpr int kPeriod = 24;                // values: whole vectors and whole pixels of 1, 3 and 4 channels
constexpr int64_t kBlock = 256 * kPeriod;  // values that stay in the nearest cache

// a x + b of n values, where a and b repeat after kPeriod.
TENON_INLINE void scale_block(float* __restrict values, int64_t n, const float* __restrict a,
                              const float* __restrict b) {
  int64_t i = 0;
  for (; i + kPeriod <= n; i += kPeriod)
    for (int j = 0; j < kPeriod; ++j) values[i + j] = values[i + j] * a[j] + b[j];
  for (int j = 0; i + j < n; ++j) values[i + j] = values[i + j] * a[j] + b[j];
}

TENON_INLINE void clip_block(float* values, int64_t n, float low, float high) {
  for (int64_t i = 0; i < n; ++i) values[i] = std::min(std::max(values[i], low), high);
}

TENON_INLINE void round_block(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = std::nearbyint(values[i]);
}

TENON_INLINE void add_block(const float* __restrict values, int64_t n, double* __restrict sums) {
  float part[kPeriod] = {};
  int64_t i = 0;
  for (; i + kPeriod <= n; i += kPeriod)
    for (int j = 0; j < kPeriod; ++j) part[j] += values[i + j];
  for (int j = 0; i + j < n; ++j) part[j] += values[i + j];
  for (int j = 0; j < kPeriod; ++j) sums[j] += part[j];
}

TENON_INLINE void change_block(float* values, int64_t n, int channels, std::span<const ValueChange> changes) {
  for (const ValueChange& change : changes) {
    float a[kPeriod], b[kPeriod];
    for (int j = 0; j < kPeriod; ++j) a[j] = change.scale[j % channels], b[j] = change.offset[j % channels];
    if (!change.is_linear_identity()) scale_block(values, n, a, b);
    if (change.clips) clip_block(values, n, change.low, change.high);
    if (change.rounds) round_block(values, n);
  }
}

// sums: kPeriod of them, or null.
TENON_INLINE void change_all(float* values, int64_t n, int channels, std::span<const ValueChange> changes,
                             double* sums) {
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    change_block(values + i, count, channels, changes);
    if (sums) add_block(values + i, count, sums);
  }
}
TENON_AVX2 void change_all_avx2(float* values, int64_t n, int channels, std::span<const ValueChange> changes,
                                double* sums) {
  change_all(values, n, channels, changes, sums);
}
void change_all_any(float* values, int64_t n, int channels, std::span<const ValueChange> changes, double* sums) {
  change_all(values, n, channels, changes, sums);
}

TENON_INLINE void to_bytes(const float* __restrict values, int64_t n, uint8_t* __restrict out) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(static_cast<int32_t>(values[i]));
}
TENON_AVX2 void to_bytes_avx2(const float* values, int64_t n, uint8_t* out) { to_bytes(values, n, out); }
void to_bytes_any(const float* values, int64_t n, uint8_t* out) { to_bytes(values, n, out); }

}  // namespace

bool ValueChange::is_linear_identity() const {
  return std::all_of(scale, scale + 4, [](float s) { return s == 1; }) &&
         std::all_of(offset, offset + 4, [](float o) { return o == 0; });
}

void change_values(float* values, int64_t count, int channels, std::span<const ValueChange> changes, float* means) {
  if (changes.empty() && !means) return;
  double sums[kPeriod] = {};
  (has_avx2() ? change_all_avx2 : change_all_any)(values, count * channels, channels, changes, means ? sums : nullptr);
  for (int c = 0; means && c < channels; ++c) {
    double sum = 0;
    for (int j = c; j < kPeriod; j += channels) sum += sums[j];
    means[c] = static_cast<float>(sum / static_cast<double>(count));
  }
}

void bytes_of_values(const float* values, int64_t n, uint8_t* out) {
  (has_avx2() ? to_bytes_avx2 : to_bytes_any)(values, n, out);
}

}  // namespace tenon
