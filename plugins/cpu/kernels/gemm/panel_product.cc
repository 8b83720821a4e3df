#include "kernels/gemm/panel_product.h"

#include <algorithm>

#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {

void multiply(const Product& p) {
  constexpr int64_t kDepth = 256;
  static const int64_t kNoRuns[1] = {0};
  Panel panel;
  panel.a_rows = p.a_rows;
  panel.c_rows = p.c_rows;
  panel.runs = kNoRuns;
  panel.a_step = p.a_step;
  panel.pairs = p.pairs;
  panel.tiles = p.tiles;
  for (int64_t j = 0; j < p.cut; j += panel.columns) {
    panel.columns = static_cast<int>(panel_columns(p.n - j));
    const int64_t width = padded_columns(panel.columns);
    panel.w_step = width;
    panel.c = p.c + j;
    for (int64_t k = 0; k < p.depth; k += kDepth) {
      panel.a = p.a + k * p.a_step;
      panel.run_length = std::min(kDepth, p.depth - k);
      panel.w = p.w + j * p.packed_depth + k * width;
      panel.accumulate = p.accumulate || k > 0;
      run_panel(panel, p.rows);
    }
  }
}

void pack_transposed(const float* m, int64_t n, int64_t depth, int64_t step, float* out) {
  for (int64_t j = 0; j < n;) {
    const int64_t columns = panel_columns(n - j), width = padded_columns(columns);
    float* to = out + j * depth;
    if (columns < width) std::fill(to, to + depth * width, 0.f);
    transpose(m + j * step, columns, depth, step, to, width);
    j += columns;
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
