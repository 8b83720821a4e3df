// Metrics with Keras's names and formulas.
//
// A metric is two running numbers kept on the device, total and count; its result is total / count (0
// when nothing was counted). They are states of the evaluation graph, reset before each evaluation.
// sample_weight, when given, weighs each value; rows with weight 0 (the padding of a partial batch) do
// not count.
#pragma once

#include "tenon/ops.h"

namespace tenon {

struct Metric {
  Tensor total;  // f32 scalar: what this batch adds
  Tensor count;  // f32 scalar
};

Metric mean(Tensor values, Tensor sample_weight = {});
// Shares of predictions[B..] (integer) equal to labels[B..].
Metric accuracy(Tensor labels, Tensor predictions, Tensor sample_weight = {});
Metric sparse_categorical_accuracy(Tensor labels, Tensor scores, Tensor sample_weight = {});
Metric categorical_accuracy(Tensor one_hot_labels, Tensor scores, Tensor sample_weight = {});
Metric binary_accuracy(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
// A label whose score is among the k highest; ties are hits.
Metric sparse_top_k_categorical_accuracy(Tensor labels, Tensor scores, int64_t k = 5, Tensor sample_weight = {});
Metric top_k_categorical_accuracy(Tensor one_hot_labels, Tensor scores, int64_t k = 5, Tensor sample_weight = {});
Metric mean_squared_error_metric(Tensor labels, Tensor predictions, Tensor sample_weight = {});
Metric mean_absolute_error_metric(Tensor labels, Tensor predictions, Tensor sample_weight = {});

}  // namespace tenon
