// What the metrics share.
#pragma once

#include <string>

#include "layer/loss/loss_parts.h"
#include "layer/object/layer_scope.h"
#include "tenon/metrics.h"

namespace tenon::metrics {

// Weighted sum and sum of weights over all values.
MetricOp weighted(const char* metric, Tensor values, Tensor weight);

// Labels and predictions of one shape, as losses::one_rank brings them there; throws where they have others.
losses::Pair same_shape(const char* metric, Tensor labels, Tensor predictions);

// 0 where there is nothing to divide by.
inline double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// Throws unless `given` is one of them.
void expect_choice(std::string_view what, const std::string& given, std::initializer_list<std::string_view> choices);

}  // namespace tenon::metrics
