// 2 x 2 max-pooling of planes, which hold the points of one channel. conv_pool.h pools where channels lie side by side.
#pragma once

#include "kernels/conv/pooled/conv_pool.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Two rows of a channel -> its windows' largest elements and which of the four they are (conv_pool.h). Whole vectors are
// read of `top` and `bottom` and written to both results.
void pool_plane(const float* top, const float* bottom, int64_t windows, float* pooled, int32_t* winner);

// Row 0 or 1 of windows whose winners have the values of `pooled` and whose other elements are 0. Writes whole pairs of
// vectors.
void unpool_plane(const float* pooled, const int32_t* winner, int64_t windows, int row, float* to);

// Move a row of windows from memory, [windows, c], to planes, [c][pitch], and back. `line` has room for its winners as
// integers.
void load_windows(const float* pooled, const uint8_t* winner, int64_t windows, int64_t c, int64_t pitch, int32_t* line,
                  float* pooled_planes, int32_t* winner_planes);
void store_windows(const float* pooled_planes, const int32_t* winner_planes, int64_t windows, int64_t c, int64_t pitch,
                   int32_t* line, float* pooled, uint8_t* winner);

}  // namespace tenon::cpu::TENON_CPU_ISA
