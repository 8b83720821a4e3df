// What the batch normalisations share.
#pragma once

#include "op/rules.h"

namespace tenon {

// The dtype that statistics are computed in.
DType norm_dtype(Tensor x, Tensor gamma);
// The mean of x[.., C] over all axes but the last, and over the replicas of the group.
Tensor channel_mean(Tensor x, int64_t group);
// v[C] repeated to x's shape.
Tensor per_channel(Tensor v, Tensor x);
// 1 / sqrt(var + eps).
Tensor inverse_deviation(Tensor var, double eps);

}  // namespace tenon
