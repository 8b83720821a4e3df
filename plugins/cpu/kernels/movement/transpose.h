// Matrices turned on their way into or out of vectors.
#pragma once

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// out[c * ld_out + r] = in[r * ld_in + c]. Nothing between the rows of `out` is written; of `in`, nothing past its last
// element is read. REQUIRES ld_in >= columns, ld_out >= rows.
void transpose(const float* in, int64_t rows, int64_t columns, int64_t ld_in, float* out, int64_t ld_out);
// The same of integers.
void transpose(const int32_t* in, int64_t rows, int64_t columns, int64_t ld_in, int32_t* out, int64_t ld_out);

}  // namespace tenon::cpu::TENON_CPU_ISA
