// Rows added to rows that indices name.
#pragma once

#include "device/launch.h"
#include "tenon/plugin/geometry.h"

namespace opencl_gpu {

// kernels/movement/indexing.cl's scatter of elements of `dtype`, added up in `sums` (its own dtype, or f32 for 16 bits), or
// put in their place. The launch wants y, the indices and u as its first arguments; finish_scatter gives the others.
Launch scatter_launch(Driver& driver, int32_t index_dtype, int32_t dtype, int32_t sums, bool adds);
Launch& finish_scatter(Launch& launch, Driver& driver, const tenon::plugin::IndexShape& shape);

// Into scratch, for `n` rows: head[n] and next[j], the chains of the j indices at `operand` that name a row.
Launch chains_launch(Driver& driver, const NodeView& node, int operand, int64_t n);

}  // namespace opencl_gpu
