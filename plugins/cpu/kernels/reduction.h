// Parts of add_reduction, one for each file.
#pragma once

#include "kernels/movement/strided_copy.h"

namespace tenon::cpu::TENON_CPU_ISA {

void add_sort(KernelTable& table);  // sort, argmax, cumsum
void add_global_norm(KernelTable& table);

// x seen as [outer, n, inner] around one axis.
struct AxisView {
  int64_t outer = 1, n = 1, inner = 1;
};
inline AxisView axis_view(const plugin::ValueView& x, int64_t axis) {
  AxisView v;
  const int a = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  for (int i = 0; i < x.rank(); ++i) (i < a ? v.outer : i == a ? v.n : v.inner) *= x.dim(i);
  return v;
}

inline bool is_number(int32_t dtype) { return plugin::is_float(dtype) || dtype == TENON_I32 || dtype == TENON_I64; }

}  // namespace tenon::cpu::TENON_CPU_ISA
