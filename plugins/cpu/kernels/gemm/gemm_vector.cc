// Products of a vector and a matrix.
#include <algorithm>

#include "kernels/element/activation.h"
#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// y[j] += sum of x[k] m[k][j], four rows at a time in order.
void add_rows(const float* x, int64_t x_step, const float* m, int64_t depth, int64_t ld, int64_t n, float* y) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    const float x0 = x[k * x_step], x1 = x[(k + 1) * x_step], x2 = x[(k + 2) * x_step], x3 = x[(k + 3) * x_step];
    const float *r0 = m + k * ld, *r1 = r0 + ld, *r2 = r1 + ld, *r3 = r2 + ld;
    int64_t j = 0;
    for (; j + 8 <= n; j += 8)
      store8(y + j, load8(y + j) + splat<f32x8>(x0) * load8(r0 + j) + splat<f32x8>(x1) * load8(r1 + j) +
                        splat<f32x8>(x2) * load8(r2 + j) + splat<f32x8>(x3) * load8(r3 + j));
    for (; j < n; ++j) y[j] = y[j] + x0 * r0[j] + x1 * r1[j] + x2 * r2[j] + x3 * r3[j];
  }
  for (; k < depth; ++k)
    for (int64_t j = 0; j < n; ++j) y[j] += x[k * x_step] * m[k * ld + j];
}

float dot(const float* a, const float* b, int64_t n) {
  f32x8 s[4] = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    for (int v = 0; v < 4; ++v) s[v] += load8(a + i + 8 * v) * load8(b + i + 8 * v);
  for (; i + 8 <= n; i += 8) s[0] += load8(a + i) * load8(b + i);
  if (i < n) s[1] += load8_part(a + i, n - i) * load8_part(b + i, n - i);
  return sum8((s[0] + s[1]) + (s[2] + s[3]));
}

}  // namespace

// One of M, N is 1: C is a vector of the other's length, and the matrix is read once, in its order.
void Gemm::vector(const Call& call, const GemmData& d) const {
  const bool row = s_.m == 1;  // C = A B, A the vector
  const int64_t n = row ? s_.n : s_.m;
  const bool dots = n == 1 || (row ? s_.tb : !s_.ta);  // the matrix lies as [n, k]
  const Slice part = call.share(s_.batch * column_blocks_);
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t p = u / column_blocks_, j0 = u % column_blocks_ * nc_, count = std::min(nc_, n - j0);
    const float* x = (row ? d.a : d.b) + p * s_.k;
    const float* m = (row ? d.b : d.a) + p * s_.k * n;
    float* y = d.c + p * n + j0;
    for (int64_t j = 0; j < count; ++j) y[j] = d.bias ? d.bias[row ? j0 + j : 0] : 0;
    if (dots)
      for (int64_t j = 0; j < count; ++j) y[j] += dot(x, m + (j0 + j) * s_.k, s_.k);
    else
      add_rows(x, 1, m + j0, s_.k, n, count, y);
    if (d.norm.scale)
      for (int64_t j = 0; j < count; ++j) y[j] = d.norm.of(row ? j0 + j : 0, y[j]);
    if (d.residual)
      for (int64_t j = 0; j < count; ++j) y[j] += d.residual[p * n + j0 + j];
    if (s_.act != TENON_ACT_NONE) act_loop(s_.act)(y, y, count, s_.alpha);
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
