// Metrics with Keras's names and formulas.
//
// A metric is two numbers of each batch, total and count, that are summed over the evaluation; its result is total /
// count (0 when nothing was counted). sample_weight, when given, has a number a sample, or for each value, and
// multiplies both; rows with weight 0 (the padding of a partial batch) do not count. Labels [B, 1] are labels [B].
// A loss is a metric too: mean(huber(prediction, target, 1, {.reduction = Reduction::kNone})). Mistakes throw
// tenon::Error naming the metric and both types.
#pragma once

#include "tenon/ops.h"

namespace tenon {

struct Metric {
  Tensor total;  // f32 scalar: what this batch adds
  Tensor count;  // f32 scalar
};

Metric mean(Tensor values, Tensor sample_weight = {});
// Shares of predictions[B..] equal to labels[B..].
Metric accuracy(Tensor labels, Tensor predictions, Tensor sample_weight = {});
// labels[B..] (integer) against the highest of scores[B.., V].
Metric sparse_categorical_accuracy(Tensor labels, Tensor scores, Tensor sample_weight = {});
Metric categorical_accuracy(Tensor one_hot_labels, Tensor scores, Tensor sample_weight = {});
// A prediction above the threshold says 1.
Metric binary_accuracy(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
// Right ones among the predictions above the threshold, and among the labels that are not 0.
Metric precision(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
Metric recall(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
// A label whose score is among the k highest; ties are hits, labels out of range and NaN are none.
Metric sparse_top_k_categorical_accuracy(Tensor labels, Tensor scores, int64_t k = 5, Tensor sample_weight = {});
Metric top_k_categorical_accuracy(Tensor one_hot_labels, Tensor scores, int64_t k = 5, Tensor sample_weight = {});
Metric mean_squared_error_metric(Tensor labels, Tensor predictions, Tensor sample_weight = {});
Metric mean_absolute_error_metric(Tensor labels, Tensor predictions, Tensor sample_weight = {});
// The cosine itself, not its negative as the loss: 1 is best.
Metric cosine_similarity_metric(Tensor labels, Tensor predictions, Tensor sample_weight = {});

}  // namespace tenon
