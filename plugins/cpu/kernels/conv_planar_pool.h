// 2 x 2 max-pooling of planes, in which the points of a channel lie in a row: what conv_pool.h does where channels do.
#pragma once

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Two rows of a channel -> its windows' largest elements and which of the four they are (conv_pool.h). Whole vectors are
// read of `top` and `bottom` and written to both results.
void pool_plane(const float* top, const float* bottom, int64_t windows, float* pooled, int32_t* winner);

// A row of the map that is 0 but at the winners: row 0 or 1 of windows whose winners have the values of `pooled`. Writes
// whole pairs of vectors.
void unpool_plane(const float* pooled, const int32_t* winner, int64_t windows, int row, float* to);

// Integers below 256 as bytes, and back.
void to_bytes(const int32_t* from, int64_t n, uint8_t* to);
void from_bytes(const uint8_t* from, int64_t n, int32_t* to);

}  // namespace tenon::cpu::TENON_CPU_ISA
