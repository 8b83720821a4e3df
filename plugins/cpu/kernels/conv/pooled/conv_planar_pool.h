// 2 x 2 max-pooling of planes, in which the points of a channel lie in a row: what conv_pool.h does where channels do.
#pragma once

#include "kernels/conv/pooled/conv_pool.h"

namespace tenon::cpu::TENON_CPU_ISA {

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
