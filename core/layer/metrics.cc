#include "tenon/metrics.h"

#include "layer/layer.h"

namespace tenon {
namespace {

// Weighted sum and sum of weights over all values.
Metric weighted(Tensor values, Tensor weight) {
  values = cast(values, DType::kF32);
  if (!weight) {
    const double n = static_cast<double>(values.elements());
    return {reduce_sum(values), full(*values.graph(), DType::kF32, {}, n)};
  }
  weight = broadcast_to(cast(weight, DType::kF32), values.shape());
  return {reduce_sum(values * weight), reduce_sum(weight)};
}

Tensor as_indices(Tensor labels) {
  if (labels.rank() >= 2 && labels.dim(-1) == 1)
    labels = reshape(labels, Shape(std::span(labels.shape().begin(), labels.shape().end() - 1)));
  return cast(labels, DType::kI32);
}

Metric equal(const char* metric, Tensor a, Tensor b, Tensor weight) {
  if (!(a.shape() == b.shape())) fail(metric, ": labels are ", a.type().str(), ", predictions ", b.type().str(), ", expected one shape");
  return weighted(compare(a, b, CompareKind::kEq), weight);
}

// Whether fewer than k scores are above the label's.
Metric in_top_k(Tensor label, Tensor scores, int64_t k, Tensor weight) {
  const Tensor own = reduce_sum(one_hot(label, scores.dim(-1), scores.dtype()) * scores, {-1}, true);
  const Tensor above = cast(compare(scores, broadcast_to(own, scores.shape()), CompareKind::kGt), DType::kI32);
  const Tensor rank = reduce_sum(above, {-1});
  return weighted(compare(rank, scalar_like(rank, static_cast<double>(k)), CompareKind::kLt), weight);
}

}  // namespace

Metric mean(Tensor values, Tensor w) { return weighted(values, w); }

Metric accuracy(Tensor labels, Tensor predictions, Tensor w) {
  return equal("accuracy", as_indices(labels), cast(predictions, DType::kI32), w);
}

Metric sparse_categorical_accuracy(Tensor labels, Tensor scores, Tensor w) {
  return equal("sparse_categorical_accuracy", as_indices(labels), argmax(scores), w);
}

Metric categorical_accuracy(Tensor one_hot_labels, Tensor scores, Tensor w) {
  return equal("categorical_accuracy", argmax(one_hot_labels), argmax(scores), w);
}

Metric binary_accuracy(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  const Tensor hit = cast(compare(predictions, scalar_like(predictions, threshold), CompareKind::kGt), DType::kF32);
  return equal("binary_accuracy", cast(labels, DType::kF32), hit, w);
}

Metric sparse_top_k_categorical_accuracy(Tensor labels, Tensor scores, int64_t k, Tensor w) {
  return in_top_k(as_indices(labels), scores, k, w);
}

Metric top_k_categorical_accuracy(Tensor one_hot_labels, Tensor scores, int64_t k, Tensor w) {
  return in_top_k(argmax(one_hot_labels), scores, k, w);
}

Metric mean_squared_error_metric(Tensor labels, Tensor predictions, Tensor w) {
  return weighted(square(cast(labels, predictions.dtype()) - predictions), w);
}

Metric mean_absolute_error_metric(Tensor labels, Tensor predictions, Tensor w) {
  return weighted(abs(cast(labels, predictions.dtype()) - predictions), w);
}

}  // namespace tenon
