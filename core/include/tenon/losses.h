// Losses with Keras's names, defaults and formulas.
//
// Each is the mean over the last axis of a formula of prediction and target (or the formula given), then reduced to a
// scalar f32, by default to the mean over all values ("sum_over_batch_size"). sample_weight, when given, has a number a
// sample, or for each of the per-sample losses, and multiplies them before the reduction; the divisor stays the number
// of values. With Reduction::kNone the result is the per-sample losses, in f32; mean() of them is the metric of that
// name. Targets of another dtype are converted. Mistakes throw tenon::Error naming the loss and both types.
#pragma once

#include <optional>

#include "tenon/ops.h"

namespace tenon {

// kMeanWithSampleWeight divides by the sum of the weights.
//
// On a device of several units each has a part of the batch, and the loss is the mean of theirs: means are those of the
// whole batch, whatever the weights; a kSum is the mean of the parts' sums.
enum class Reduction : uint8_t { kSumOverBatchSize, kSum, kMeanWithSampleWeight, kNone };

struct LossOptions {
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  // Cross entropies and their focal forms: y becomes y (1 - s) + s / classes (binary: s / 2).
  double label_smoothing = 0;
  // Sparse cross entropies: samples of this label cost nothing and are not counted.
  std::optional<int64_t> ignore_class = {};
};

// logits[B.., V] and integer labels[B..], or one-hot / soft labels[B.., V].
Tensor softmax_cross_entropy(Tensor logits, Tensor labels, const LossOptions& options = {});
// From probabilities, as Keras's losses with from_logits = False compute it: divided by their sum and clipped to
// [1e-7, 1 - 1e-7]. The result of a softmax (or of sigmoid, below) is not: its logits are used instead.
Tensor categorical_cross_entropy(Tensor probabilities, Tensor labels, const LossOptions& options = {});
Tensor sparse_categorical_cross_entropy(Tensor probabilities, Tensor labels, const LossOptions& options = {});
Tensor binary_cross_entropy(Tensor prediction, Tensor labels, bool from_logits = false,
                            const LossOptions& options = {});
// The cross entropies with each term times (1 - p)^gamma, p the probability of what is true (Lin et al. 2018).
struct FocalOptions {
  double alpha = 0.25;  // weight of the terms; binary: of class 1 (1 - alpha of class 0), only with class balancing
  double gamma = 2;
  bool from_logits = false;
  bool apply_class_balancing = false;  // binary
};
Tensor binary_focal_cross_entropy(Tensor prediction, Tensor labels, const FocalOptions& focal = {},
                                  const LossOptions& options = {});
Tensor categorical_focal_cross_entropy(Tensor prediction, Tensor labels, const FocalOptions& focal = {},
                                       const LossOptions& options = {});

Tensor mean_squared_error(Tensor prediction, Tensor target, const LossOptions& options = {});
Tensor mean_absolute_error(Tensor prediction, Tensor target, const LossOptions& options = {});
// 100 |y - p| / max(|y|, 1e-7)
Tensor mean_absolute_percentage_error(Tensor prediction, Tensor target, const LossOptions& options = {});
// (log(max(p, 1e-7) + 1) - log(max(y, 1e-7) + 1))^2
Tensor mean_squared_logarithmic_error(Tensor prediction, Tensor target, const LossOptions& options = {});
// e^2 / 2, from |e| = delta on delta |e| - delta^2 / 2
Tensor huber(Tensor prediction, Tensor target, double delta = 1, const LossOptions& options = {});
// log(cosh(e)), without overflow
Tensor log_cosh(Tensor prediction, Tensor target, const LossOptions& options = {});
// p - y log(p + 1e-7)
Tensor poisson(Tensor prediction, Tensor target, const LossOptions& options = {});
// sum y log(y / p), both clipped to [1e-7, 1]
Tensor kl_divergence(Tensor prediction, Tensor target, const LossOptions& options = {});
// Minus the cosine of the angle between prediction and target over the last axis: -1 is best.
Tensor cosine_similarity(Tensor prediction, Tensor target, const LossOptions& options = {});
// max(1 - y p, 0), its square; labels are -1 and 1. Labels of 0 and 1 alone are taken for -1 and 1.
Tensor hinge(Tensor prediction, Tensor labels, const LossOptions& options = {});
Tensor squared_hinge(Tensor prediction, Tensor labels, const LossOptions& options = {});
// max(1 + max((1 - y) p) - sum(y p), 0) of one-hot labels
Tensor categorical_hinge(Tensor prediction, Tensor labels, const LossOptions& options = {});

}  // namespace tenon
