// Inside of masking: what layers do with masks.
#pragma once

#include "tenon/losses.h"
#include "tenon/masking.h"

namespace tenon {

// y, with x's mask.
Tensor with_mask_of(Tensor x, Tensor y);
// x, with 0 in the steps that do not count. REQUIRED: x has a mask.
Tensor counted_steps(Tensor x);
// The mask in `dtype`, broadcast along the axes that x has behind it. REQUIRED: x has a mask.
Tensor mask_over(Tensor x, DType dtype);
// Where either counts; absent unless all have a mask, as Keras's merging layers do it.
Tensor merged_mask(const Tensors& xs);
// y is the concatenation of xs: its mask.
Tensor concatenated_mask(const Tensors& xs, int64_t axis);
// The weights of a loss or a metric of a prediction with this mask: `weight`, absent for 1 each, and 0 where no step
// counts. A mean over all values becomes one over those that count. `what` is for messages.
Tensor masked_weight(std::string_view what, Tensor mask, Tensor weight, Reduction reduction);

}  // namespace tenon
