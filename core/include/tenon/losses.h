// Losses with Keras's names, defaults and formulas.
//
// Each returns a scalar f32: by default the mean over all values ("sum_over_batch_size"). sample_weight,
// when given, has the shape of the per-sample losses (or is broadcast to it) and multiplies them before
// the reduction; the divisor stays the number of values.
#pragma once

#include "tenon/ops.h"

namespace tenon {

enum class Reduction : uint8_t { kSumOverBatchSize, kSum, kMeanWithSampleWeight, kNone };

struct LossOptions {
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  double label_smoothing = 0;
};

// logits[B.., V] and integer labels[B..], or one-hot / soft labels[B.., V].
Tensor softmax_cross_entropy(Tensor logits, Tensor labels, const LossOptions& options = {});
// From probabilities, as Keras's losses with from_logits = False compute it.
Tensor categorical_cross_entropy(Tensor probabilities, Tensor labels, const LossOptions& options = {});
Tensor sparse_categorical_cross_entropy(Tensor probabilities, Tensor labels, const LossOptions& options = {});
Tensor binary_cross_entropy(Tensor prediction, Tensor labels, bool from_logits = false, const LossOptions& options = {});
Tensor mean_squared_error(Tensor prediction, Tensor target, const LossOptions& options = {});
Tensor mean_absolute_error(Tensor prediction, Tensor target, const LossOptions& options = {});
Tensor huber(Tensor prediction, Tensor target, double delta = 1, const LossOptions& options = {});

}  // namespace tenon
