// A part of an image with its halo of zeros, copied so that kernels need no edges.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct Point {
  int64_t at[3];
  int64_t& operator[](int i) { return at[i]; }
  int64_t operator[](int i) const { return at[i]; }
  int64_t product() const { return at[0] * at[1] * at[2]; }
};

// The first axis that has more than one point: the one that images are cut along.
inline int block_axis(const Point& size) { return size[0] > 1 ? 0 : size[1] > 1 ? 1 : 2; }

// Fills to [extent0, extent1, extent2, pitch], which are the points of an image [size0, size1, size2] from `first` on:
// line(z, y, x, n, to) writes n of them from (z, y, x) on, and what lies outside the image is zero.
template <class Line>
TENON_INLINE void for_halo_lines(const Point& size, const Point& first, const Point& extent, int64_t pitch, float* to,
                                 Line line) {
  const int64_t left = std::clamp<int64_t>(-first[2], 0, extent[2]);
  const int64_t end = std::clamp<int64_t>(size[2] - first[2], left, extent[2]);
  for (int64_t i = 0; i < extent[0]; ++i)
    for (int64_t j = 0; j < extent[1]; ++j, to += extent[2] * pitch) {
      const int64_t z = first[0] + i, y = first[1] + j;
      if (z < 0 || z >= size[0] || y < 0 || y >= size[1]) {
        std::fill(to, to + extent[2] * pitch, 0.0f);
        continue;
      }
      std::fill(to, to + left * pitch, 0.0f);
      line(z, y, first[2] + left, end - left, to + left * pitch);
      std::fill(to + end * pitch, to + extent[2] * pitch, 0.0f);
    }
}

// The same of image [size0, size1, size2, c], pitch >= c. Of points that lie in it, what is beyond c is left alone.
inline void copy_halo(const float* image, const Point& size, int64_t c, const Point& first, const Point& extent,
                      int64_t pitch, float* to) {
  const auto copy = [&](int64_t z, int64_t y, int64_t x, int64_t n, float* line) __attribute__((always_inline)) {
    const float* from = image + ((z * size[1] + y) * size[2] + x) * c;
    if (pitch == c)
      std::memcpy(line, from, static_cast<size_t>(n * c) * sizeof(float));
    else
      for (int64_t p = 0; p < n; ++p)
        std::memcpy(line + p * pitch, from + p * c, static_cast<size_t>(c) * sizeof(float));
  };
  for_halo_lines(size, first, extent, pitch, to, copy);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
