// 2 x 2 max-pooling of planes, in which the points of a channel lie in a row: what conv_pool.h does where channels do.
#pragma once

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// The largest of a window's elements, windows in lanes, and which one it is: the first that equals it, or the first NaN.
TENON_INLINE Lanes::Vector largest(const Lanes::Vector* elements, Lanes::Ints& which) {
  Lanes::Vector most = elements[0];
  which = Lanes::Ints{};
#pragma GCC unroll 3
  for (int32_t i = 1; i < 4; ++i) {
    const Lanes::Ints wins = ~(most >= elements[i]) & (most == most);  // NaN wins, but not over NaN
    most = wins ? elements[i] : most;
    which = wins ? Lanes::Ints{} + i : which;
  }
  return most;
}

// Two rows of a channel -> its windows' largest elements and which of the four they are (conv_pool.h). Whole vectors are
// read of `top` and `bottom` and written to both results.
void pool_plane(const float* top, const float* bottom, int64_t windows, float* pooled, int32_t* winner);

// A row of the map that is 0 but at the winners: row 0 or 1 of windows whose winners have the values of `pooled`. Writes
// whole pairs of vectors.
void unpool_plane(const float* pooled, const int32_t* winner, int64_t windows, int row, float* to);

// A row of windows between memory, [windows, c], and planes, [c][pitch]. `line` has room for its winners as integers.
void load_windows(const float* pooled, const uint8_t* winner, int64_t windows, int64_t c, int64_t pitch, int32_t* line,
                  float* pooled_planes, int32_t* winner_planes);
void store_windows(const float* pooled_planes, const int32_t* winner_planes, int64_t windows, int64_t c, int64_t pitch,
                   int32_t* line, float* pooled, uint8_t* winner);

}  // namespace tenon::cpu::TENON_CPU_ISA
