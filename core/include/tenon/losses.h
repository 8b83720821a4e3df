// Losses with Keras's names, defaults and formulas, as functions and as objects.
//
// Each takes what is true first, as Keras does, and is the mean over the last axis of a formula of both (or the formula
// given), then reduced to a scalar f32, by default to the mean over all values ("sum_over_batch_size"). sample_weight,
// when given, has a number a sample, or for each of the per-sample losses, and multiplies them before the reduction;
// the divisor stays the number of values. With Reduction::kNone the result is the per-sample losses, in f32. True
// values of another dtype are converted; [B] beside [B, 1] are its rows. Mistakes throw tenon::Error naming the loss
// and both types.
//
//   Tensor a = sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
//   Loss loss = SparseCategoricalCrossentropy({.from_logits = true});      // or "mse", or a function of one's own
//   Tensor b = loss(labels, logits);
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/ops.h"

namespace tenon {

// kMeanWithSampleWeight divides by the sum of the weights, kSumByNonzeroWeights (TensorFlow 1's) by the number of those
// that are not 0.
//
// On a device of several units each has a part of the batch, and the loss is the mean of theirs: means are those of the
// whole batch, whatever the weights, and a kSum is the sum of the whole batch, as in Keras under a strategy, for which
// each unit's is its part's sum times the number of units.
enum class Reduction : uint8_t { kSumOverBatchSize, kSum, kMeanWithSampleWeight, kNone, kSumByNonzeroWeights };

struct LossOptions {
  // Cross entropies: predictions are logits. Else they are probabilities: categorical ones are divided by their sum,
  // and all are clipped to [1e-7, 1 - 1e-7]. The result of a softmax, or of a sigmoid, is not: its logits are used
  // instead.
  bool from_logits = false;
  // Cross entropies: y becomes y (1 - s) + s / classes (binary: s / 2).
  double label_smoothing = 0;
  // Sparse cross entropies: samples of this label cost nothing and are not counted.
  std::optional<int64_t> ignore_class = {};
  // Cross entropies and cosine_similarity: the axis of classes, of components, of what one sample has. Integer labels
  // lack it.
  int64_t axis = -1;
  Tensor sample_weight = {};  // a Loss gets it when it is called
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};  // of a Loss; empty: Keras's
};

// y_true[B.., V] one-hot or soft labels, y_pred[B.., V].
Tensor categorical_crossentropy(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// y_true[B..] or [B.., 1] integers, or f32 or f64, whose whole part counts, as in Keras; y_pred[B.., V].
Tensor sparse_categorical_crossentropy(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
Tensor binary_crossentropy(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// The cross entropies with each term times (1 - p)^gamma, p the probability of what is true (Lin et al. 2018).
struct FocalOptions {
  bool apply_class_balancing = false;  // binary
  double alpha = 0.25;  // weight of the terms; binary: of class 1 (1 - alpha of class 0), only with class balancing
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};
};
Tensor binary_focal_crossentropy(Tensor y_true, Tensor y_pred, const FocalOptions& options = {});
Tensor categorical_focal_crossentropy(Tensor y_true, Tensor y_pred, const FocalOptions& options = {});
// (1 - p^q) / q, p the probability of the integer label (Zhang and Sabuncu 2018). 0 < q < 1.
struct GeneralizedOptions {
  double q = 0.5;
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};
};
Tensor categorical_generalized_cross_entropy(Tensor y_true, Tensor y_pred, const GeneralizedOptions& options = {});
// -y log(p + 1e-7) - (1 - y) log(1 - p + 1e-7), TensorFlow 1's.
Tensor log_loss(Tensor y_true, Tensor y_pred, const LossOptions& options = {});

Tensor mean_squared_error(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
Tensor mean_absolute_error(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// 100 |y - p| / max(|y|, 1e-7)
Tensor mean_absolute_percentage_error(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// (log(max(p, 1e-7) + 1) - log(max(y, 1e-7) + 1))^2
Tensor mean_squared_logarithmic_error(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// e^2 / 2, from |e| = delta on delta |e| - delta^2 / 2
struct HuberOptions {
  double delta = 1;
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};
};
Tensor huber(Tensor y_true, Tensor y_pred, const HuberOptions& options = {});
// log(cosh(e)), without overflow
Tensor log_cosh(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// p - y log(p + 1e-7)
Tensor poisson(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// sum y log(y / p), both clipped to [1e-7, 1]
Tensor kl_divergence(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// Minus the cosine of the angle between both over the last axis: -1 is best.
Tensor cosine_similarity(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// max(1 - y p, 0), its square; labels are -1 and 1. Labels of 0 and 1 alone are taken for -1 and 1.
Tensor hinge(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
Tensor squared_hinge(Tensor y_true, Tensor y_pred, const LossOptions& options = {});
// max(1 + max((1 - y) p) - sum(y p), 0) of one-hot labels
Tensor categorical_hinge(Tensor y_true, Tensor y_pred, const LossOptions& options = {});

// Overlaps of masks: sums are over `axis`, without it over everything (on several units over each one's part).
struct OverlapOptions {
  double alpha = 0.5, beta = 0.5;  // tversky
  Ints axis = {};
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};
};
// 1 - 2 sum(y p) / (sum(y) + sum(p) + 1e-7). Takes neither alpha nor beta.
Tensor dice(Tensor y_true, Tensor y_pred, const OverlapOptions& options = {});
// 1 - (TP + 1e-7) / (TP + alpha FP + beta FN + 1e-7) (Salehi et al. 2017). Keras has alpha and beta the other way
// round.
Tensor tversky(Tensor y_true, Tensor y_pred, const OverlapOptions& options = {});

// Brings embeddings of one class near each other and those of others apart (Sun et al. 2020). y_pred[B,D] are
// embeddings of length 1, y_true[B] or [B,1] their classes, integers. Each example is compared with the whole batch of
// all units, which must not be dynamic where there are several. An example that is alone in its class, or whose class
// is all of the batch, costs nothing and, as in Keras, is not counted.
struct CircleOptions {
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;  // an example is not compared with itself
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};
};
Tensor circle(Tensor y_true, Tensor y_pred, const CircleOptions& options = {});

// Connectionist temporal classification: -log of the probability of the labels in whatever alignment (Graves et al.
// 2006). y_true[B,N] integers, 0 for blank and behind the labels; y_pred[B,T,V] logits, whose steps must not be
// dynamic: shorter ones have lengths. [B] losses. A label that takes more steps than there are, repeated ones with a
// blank in between, costs some 1e5, as in Keras, and not infinity.
struct CtcOptions {
  Tensor label_length = {};  // [B] integers; none: the number of labels that are not 0
  Tensor input_length = {};  // [B] integers; none: as many steps as count by the mask of y_pred, or all
  Tensor sample_weight = {};
  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name = {};
};
Tensor ctc(Tensor y_true, Tensor y_pred, const CtcOptions& options = {});

// A loss as a value: what is trained for. Copies are the same.
class Loss {
 public:
  Loss() = default;  // none
  // By Keras's names: "mse", "mean_squared_error", "MeanSquaredError", .. Throws Error naming the nearest.
  Loss(const char* name) : Loss(std::string(name)) {}  // NOLINT: implicit by design
  Loss(const std::string& name);                       // NOLINT: implicit by design
  // A function of this header.
  using Function = Tensor (*)(Tensor y_true, Tensor y_pred, const LossOptions& options);
  Loss(Function function, const LossOptions& options = {});  // NOLINT: implicit by design
  // A function of one's own that gives the losses of the samples; its name is "loss" unless the options have one.
  template <class F>
  requires(!std::same_as<F, Loss> && std::is_invocable_r_v<Tensor, F, Tensor, Tensor>)
      Loss(F per_sample, const LossOptions& options = {})  // NOLINT: implicit by design
      : Loss(std::function<Tensor(Tensor, Tensor)>(std::move(per_sample)), options, 0) {}

  // The scalar, or the per-sample losses where it was made with Reduction::kNone.
  Tensor operator()(Tensor y_true, Tensor y_pred, Tensor sample_weight = {}) const;
  const std::string& name() const;
  explicit operator bool() const { return impl_ != nullptr; }

  struct Impl;
  explicit Loss(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  Loss(std::function<Tensor(Tensor, Tensor)> per_sample, const LossOptions& options, int own);
  std::shared_ptr<const Impl> impl_;
};

// Keras's classes. Their options are those of the functions, without sample_weight.
Loss BinaryCrossentropy(const LossOptions& options = {});
Loss BinaryFocalCrossentropy(const FocalOptions& options = {});
Loss CategoricalCrossentropy(const LossOptions& options = {});
Loss CategoricalFocalCrossentropy(const FocalOptions& options = {});
Loss CategoricalGeneralizedCrossEntropy(const GeneralizedOptions& options = {});
Loss CategoricalHinge(const LossOptions& options = {});
Loss Circle(const CircleOptions& options = {});
Loss CosineSimilarity(const LossOptions& options = {});
// As the function, but for lengths: they come from labels that are 0 and from the mask of the predictions alone.
Loss CTC(const LossOptions& options = {});
Loss Dice(const OverlapOptions& options = {});
Loss Hinge(const LossOptions& options = {});
Loss Huber(const HuberOptions& options = {});
Loss KLDivergence(const LossOptions& options = {});
Loss LogCosh(const LossOptions& options = {});
Loss MeanAbsoluteError(const LossOptions& options = {});
Loss MeanAbsolutePercentageError(const LossOptions& options = {});
Loss MeanSquaredError(const LossOptions& options = {});
Loss MeanSquaredLogarithmicError(const LossOptions& options = {});
Loss Poisson(const LossOptions& options = {});
Loss SparseCategoricalCrossentropy(const LossOptions& options = {});
Loss SquaredHinge(const LossOptions& options = {});
Loss Tversky(const OverlapOptions& options = {});

}  // namespace tenon
