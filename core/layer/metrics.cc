#include "tenon/metrics.h"

#include <limits>

#include "base/number.h"
#include "layer/layer.h"
#include "tenon/losses.h"

namespace tenon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Weighted sum and sum of weights over all values.
Metric weighted(const char* metric, Tensor values, Tensor weight) {
  if (!values) fail(metric, ": the values were never set");
  values = cast(values, DType::kF32);
  if (!weight) {
    const double n = static_cast<double>(values.elements());
    return {reduce_sum(values), full(*values.graph(), DType::kF32, {}, n)};
  }
  weight = sample_weights(metric, weight, values);
  // select: a NaN in the padding does not count
  const Tensor zero = scalar_like(weight, 0), some = compare(weight, zero, CompareKind::kNe);
  return {reduce_sum(select(some, values * weight, zero)), reduce_sum(weight)};
}

// Labels and predictions of one shape.
struct Pair {
  Tensor labels, predictions;
};

Pair matched(const char* metric, Tensor labels, Tensor predictions) {
  if (!labels || !predictions) fail(metric, ": labels or predictions were never set");
  const Pair p{same_rank(labels, predictions), same_rank(predictions, labels)};
  if (!(p.labels.shape() == p.predictions.shape()))
    fail(metric, ": labels are ", labels.type().str(), ", predictions ", predictions.type().str(),
         ", expected one shape");
  return p;
}

Metric equal(const char* metric, Tensor labels, Tensor predictions, Tensor weight) {
  const Pair p = matched(metric, labels, predictions);
  const bool floats = is_float(labels.dtype()) || is_float(predictions.dtype());
  const DType common = labels.dtype() == predictions.dtype() ? labels.dtype() : floats ? DType::kF32 : DType::kI32;
  return weighted(metric, compare(cast(p.labels, common), cast(p.predictions, common), CompareKind::kEq), weight);
}

// Scores [B.., V] without V.
Shape samples(const char* metric, Tensor scores) {
  if (!scores) fail(metric, ": the scores were never set");
  if (scores.rank() < 1) fail(metric, ": scores are ", scores.type().str(), ", expected [batch, .., classes]");
  return Shape(std::vector<int64_t>(scores.shape().begin(), scores.shape().end() - 1));
}

Tensor class_indices(const char* metric, Tensor labels, Tensor scores) {
  const Shape rows = samples(metric, scores);
  if (!labels) fail(metric, ": the labels were never set");
  if (labels.rank() == scores.rank() && labels.dim(-1) == 1) labels = reshape(labels, rows);
  if (!(labels.shape() == rows))
    fail(metric, ": labels are ", labels.type().str(), ", expected shape ", rows.str(), " for scores ",
         scores.type().str());
  return cast(labels, DType::kI32);
}

Tensor one_hot_indices(const char* metric, Tensor labels, Tensor scores) {
  samples(metric, scores);
  if (!labels || !(labels.shape() == scores.shape()))
    fail(metric, ": labels are ", labels ? labels.type().str() : "not set", ", expected shape ", scores.shape().str());
  return argmax(labels);
}

// Whether fewer than k scores are above the label's.
Metric in_top_k(const char* metric, Tensor label, Tensor scores, int64_t k, Tensor weight) {
  if (k < 1) fail(metric, ": k is ", k, ", expected 1 or more");
  const Tensor at_label = one_hot(label, scores.dim(-1), DType::kBool);
  const Tensor own = reduce_max(select(at_label, scores, scalar_like(scores, -kInfinity)), {-1});
  const Tensor above = compare(scores, broadcast_to(expand_dims(own, -1), scores.shape()), CompareKind::kGt);
  const Tensor rank = reduce_sum(cast(above, DType::kI32), {-1});
  const Tensor is_number = compare(own, own, CompareKind::kEq);
  const Tensor inside = reduce_max(at_label, {-1});
  const Tensor high = compare(rank, scalar_like(rank, static_cast<double>(k)), CompareKind::kLt);
  return weighted(metric, minimum(minimum(high, is_number), inside), weight);
}

struct Hits {
  Tensor label, prediction;  // 0 or 1
};

Hits binary(const char* metric, Tensor labels, Tensor predictions, double threshold) {
  expect_number(cat(metric, ": threshold"), threshold);
  const Pair p = matched(metric, labels, predictions);
  const auto number = [](Tensor b) { return cast(b, DType::kF32); };
  return {number(compare(p.labels, scalar_like(p.labels, 0), CompareKind::kNe)),
          number(compare(p.predictions, scalar_like(p.predictions, threshold), CompareKind::kGt))};
}

// Of the values that are 1 in `base`, the share that is 1 in `values` too.
Metric share(const char* metric, Tensor values, Tensor base, Tensor weight) {
  if (weight) base = base * sample_weights(metric, weight, base);
  return {reduce_sum(values * base), reduce_sum(base)};
}

Metric of_loss(const char* metric, Tensor (*loss)(Tensor, Tensor, const LossOptions&), Tensor labels,
               Tensor predictions, Tensor weight) {
  const Pair p = matched(metric, labels, predictions);
  LossOptions o;
  o.reduction = Reduction::kNone;
  return weighted(metric, loss(p.predictions, p.labels, o), weight);
}

}  // namespace

Metric mean(Tensor values, Tensor w) { return weighted("mean", values, w); }

Metric accuracy(Tensor labels, Tensor predictions, Tensor w) { return equal("accuracy", labels, predictions, w); }

Metric sparse_categorical_accuracy(Tensor labels, Tensor scores, Tensor w) {
  constexpr const char* kName = "sparse_categorical_accuracy";
  const Tensor indices = class_indices(kName, labels, scores);
  return equal(kName, indices, argmax(scores), w);
}

Metric categorical_accuracy(Tensor one_hot_labels, Tensor scores, Tensor w) {
  constexpr const char* kName = "categorical_accuracy";
  const Tensor indices = one_hot_indices(kName, one_hot_labels, scores);
  return equal(kName, indices, argmax(scores), w);
}

Metric binary_accuracy(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  expect_number("binary_accuracy: threshold", threshold);
  const Pair p = matched("binary_accuracy", labels, predictions);
  const Tensor hit = compare(p.predictions, scalar_like(p.predictions, threshold), CompareKind::kGt);
  return equal("binary_accuracy", cast(p.labels, DType::kF32), cast(hit, DType::kF32), w);
}

Metric precision(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  const Hits h = binary("precision", labels, predictions, threshold);
  return share("precision", h.label, h.prediction, w);
}

Metric recall(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  const Hits h = binary("recall", labels, predictions, threshold);
  return share("recall", h.prediction, h.label, w);
}

Metric sparse_top_k_categorical_accuracy(Tensor labels, Tensor scores, int64_t k, Tensor w) {
  constexpr const char* kName = "sparse_top_k_categorical_accuracy";
  return in_top_k(kName, class_indices(kName, labels, scores), scores, k, w);
}

Metric top_k_categorical_accuracy(Tensor one_hot_labels, Tensor scores, int64_t k, Tensor w) {
  constexpr const char* kName = "top_k_categorical_accuracy";
  return in_top_k(kName, one_hot_indices(kName, one_hot_labels, scores), scores, k, w);
}

Metric mean_squared_error_metric(Tensor labels, Tensor predictions, Tensor w) {
  return of_loss("mean_squared_error", mean_squared_error, labels, predictions, w);
}

Metric mean_absolute_error_metric(Tensor labels, Tensor predictions, Tensor w) {
  return of_loss("mean_absolute_error", mean_absolute_error, labels, predictions, w);
}

Metric cosine_similarity_metric(Tensor labels, Tensor predictions, Tensor w) {
  LossOptions o;
  o.reduction = Reduction::kNone;
  const Pair p = matched("cosine_similarity", labels, predictions);
  return weighted("cosine_similarity", -cosine_similarity(p.predictions, p.labels, o), w);
}

}  // namespace tenon
