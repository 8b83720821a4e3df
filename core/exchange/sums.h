// One of several arrays: their sums, products, largest or smallest elements, in their order.
#pragma once

#include <cstddef>
#include <span>

#include "tenon/ops.h"
#include "tenon/types.h"

namespace tenon {

// to[i] = x0[i] + x1[i] + .., as the op all_reduce has it: from the first on; narrow floats are rounded once, at the end.
// `to` may be one of `from`. REQUIRED: one array at least; `bytes` are whole elements; dtype is a number.
void fold(ReduceKind kind, DType dtype, std::span<const std::byte* const> from, std::byte* to, size_t bytes);
// Whether fold() can: integers and floats.
bool folds(DType dtype);

}  // namespace tenon
