// A part of an image with its halo of zeros, copied so that kernels need no edges.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct Point {
  int64_t at[3];
  int64_t& operator[](int i) { return at[i]; }
  int64_t operator[](int i) const { return at[i]; }
  int64_t product() const { return at[0] * at[1] * at[2]; }
};

// The first axis that has more than one point: the one that images are cut along.
inline int block_axis(const Point& size) { return size[0] > 1 ? 0 : size[1] > 1 ? 1 : 2; }

// image [size0, size1, size2, c] -> to [extent0, extent1, extent2, pitch], pitch >= c: the points from
// `first` on, which may lie outside the image: those are zero. What is beyond c is left alone.
inline void copy_halo(const float* image, const Point& size, int64_t c, const Point& first, const Point& extent,
                      int64_t pitch, float* to) {
  const int64_t left = std::clamp<int64_t>(-first[2], 0, extent[2]);
  const int64_t end = std::clamp<int64_t>(size[2] - first[2], left, extent[2]);
  for (int64_t i = 0; i < extent[0]; ++i)
    for (int64_t j = 0; j < extent[1]; ++j, to += extent[2] * pitch) {
      const int64_t z = first[0] + i, y = first[1] + j;
      if (z < 0 || z >= size[0] || y < 0 || y >= size[1]) {
        std::fill(to, to + extent[2] * pitch, 0.0f);
        continue;
      }
      const float* from = image + ((z * size[1] + y) * size[2] + first[2] + left) * c;
      std::fill(to, to + left * pitch, 0.0f);
      if (pitch == c)
        std::memcpy(to + left * c, from, static_cast<size_t>((end - left) * c) * sizeof(float));
      else
        for (int64_t p = left; p < end; ++p, from += c)
          std::memcpy(to + p * pitch, from, static_cast<size_t>(c) * sizeof(float));
      std::fill(to + end * pitch, to + extent[2] * pitch, 0.0f);
    }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
