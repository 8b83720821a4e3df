// 2 x 2 max-pooling on the way out of a convolution, and its gradient on the way in: the map between them is never in
// memory. A byte for each pooled element says which of its window's four elements won, in row-major order: the first
// that equals the maximum, or the first NaN.
#pragma once

#include "kernels/conv/gather/conv_halo.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// The largest of a window's four elements, and which one it is; in each lane.
template <class V>
TENON_INLINE typename V::Vector largest(const typename V::Vector* elements, typename V::Ints& which) {
  using Ints = typename V::Ints;
  typename V::Vector most = elements[0];
  which = Ints{};
#pragma GCC unroll 3
  for (int32_t i = 1; i < 4; ++i) {
    const Ints wins = ~(most >= elements[i]) & (most == most);  // NaN wins, but not over NaN
    most = wins ? elements[i] : most;
    which = wins ? Ints{} + i : which;
  }
  return most;
}

// Channels [begin, end) of the non-overlapping windows of two rows of a map [.., c], of `width` points and `pitch` points
// apart, to pooled and winner [width / 2, c].
void pool_rows(const float* map, int64_t width, int64_t pitch, int64_t c, int64_t begin, int64_t end, float* pooled,
               uint8_t* winner);

// As copy_halo (conv_halo.h). The image is the map [size0, size1, size2, c] whose winners have the values of `pooled`
// [size0, size1 / 2, size2 / 2, c] and whose other elements are 0.
void unpool_halo(const float* pooled, const uint8_t* winner, const Point& size, int64_t c, const Point& first,
                 const Point& extent, int64_t pitch, float* to);

// The size of the pooled form of a map of this size.
inline Point pooled_size(const Point& size) { return {{size[0], size[1] / 2, size[2] / 2}}; }

}  // namespace tenon::cpu::TENON_CPU_ISA
