// Vectors of channels at a point, and the taps that lie in the source.
#pragma once

#include <algorithm>

#include "kernels/stored.h"

namespace tenon::cpu::TENON_CPU_ISA {

// A vector of channels, of which there are n where it is a part.
template <bool Part, class T>
TENON_INLINE Lanes::Vector channels_at(const T* from, int64_t n) {
  if constexpr (Part) return load_stored(from, n);
  return load_stored(from);
}
template <bool Part, class T>
TENON_INLINE void put_channels(T* to, Lanes::Vector v, int64_t n) {
  if constexpr (Part)
    store_stored(to, v, n);
  else
    store_stored(to, v);
}

// Taps [begin, end) of n, `step` points of the source apart, of which the first is at `first`: those below `size`.
inline Slice taps_inside(int64_t n, int64_t first, int64_t step, int64_t size) {
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = std::min(n, first < size ? (size - 1 - first) / step + 1 : 0);
  return {std::min(begin, end), end};
}

}  // namespace tenon::cpu::TENON_CPU_ISA
