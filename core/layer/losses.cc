#include "tenon/losses.h"

#include "layer/layer.h"

namespace tenon {
namespace {

constexpr double kEpsilon = 1e-7;

// [B.., n] -> [B..]: the mean over the last axis; a vector is its own.
Tensor sample_mean(Tensor values) { return values.rank() <= 1 ? values : reduce_mean(values, {-1}); }

Tensor reduced(Tensor per_sample, const LossOptions& o) {
  Tensor weights = o.sample_weight;
  if (weights) {
    weights = cast(weights, per_sample.dtype());
    per_sample = per_sample * weights;
  }
  if (o.reduction == Reduction::kNone) return per_sample;
  const Tensor sum = reduce_sum(per_sample);
  if (o.reduction == Reduction::kSum) return cast(sum, DType::kF32);
  if (o.reduction == Reduction::kMeanWithSampleWeight && weights) {
    const Tensor total = reduce_sum(broadcast_to(weights, per_sample.shape()));
    const Tensor zero = scalar_like(total, 0), positive = compare(total, zero, CompareKind::kNe);
    return cast(select(positive, div(sum, select(positive, total, scalar_like(total, 1))), zero), DType::kF32);
  }
  return cast(sum * (1.0 / static_cast<double>(per_sample.elements())), DType::kF32);
}

void expect_same_shape(const char* loss, Tensor prediction, Tensor target) {
  if (!(prediction.shape() == target.shape()))
    fail(loss, ": prediction is ", prediction.type().str(), ", target ", target.type().str(), ", expected one shape");
}

void expect_labels(const char* loss, Tensor scores, Tensor labels, bool sparse) {
  Shape expected = scores.shape();
  if (sparse) expected = Shape(std::span<const int64_t>(scores.shape().begin(), scores.shape().end() - 1));
  if (!(labels.shape() == expected))
    fail(loss, ": labels are ", labels.type().str(), ", expected shape ", expected.str(), " for scores ", scores.type().str());
}

Tensor smoothed(Tensor one_hot, double smoothing) {
  if (smoothing == 0) return one_hot;
  return one_hot * (1 - smoothing) + smoothing / static_cast<double>(one_hot.dim(-1));
}

}  // namespace

Tensor softmax_cross_entropy(Tensor logits, Tensor labels, const LossOptions& o) {
  if (!logits || !labels) fail("softmax_cross_entropy: logits or labels were never set");
  if (logits.rank() < 2) fail("softmax_cross_entropy: logits are ", logits.type().str(), ", expected [batch, classes]");
  const bool sparse = is_integer(labels.dtype());
  const double k = static_cast<double>(logits.dim(-1)), s = o.label_smoothing;
  CrossEntropyOptions options;
  if (sparse) {
    if (labels.rank() == logits.rank() && labels.dim(-1) == 1) labels = reshape(labels, Shape(std::span(labels.shape().begin(), labels.shape().end() - 1)));
    expect_labels("softmax_cross_entropy", logits, labels, true);
    options.on = 1 - s + s / k;
    options.off = s / k;
  } else {
    expect_labels("softmax_cross_entropy", logits, labels, false);
    labels = smoothed(cast(labels, logits.dtype()), s);
  }
  return reduced(softmax_cross_entropy_per_example(logits, labels, options).loss, o);
}

Tensor categorical_cross_entropy(Tensor p, Tensor labels, const LossOptions& o) {
  expect_labels("categorical_cross_entropy", p, labels, false);
  const Tensor normal = p / reduce_sum(p, {-1}, true);
  const Tensor clipped = clamp(normal, kEpsilon, 1 - kEpsilon);
  return reduced(-reduce_sum(smoothed(cast(labels, p.dtype()), o.label_smoothing) * log(clipped), {-1}), o);
}

Tensor sparse_categorical_cross_entropy(Tensor p, Tensor labels, const LossOptions& o) {
  expect_labels("sparse_categorical_cross_entropy", p, labels, true);
  const Tensor logits = log(clamp(p, kEpsilon, 1 - kEpsilon));
  return reduced(softmax_cross_entropy_per_example(logits, labels, {}).loss, o);
}

Tensor binary_cross_entropy(Tensor prediction, Tensor labels, bool from_logits, const LossOptions& o) {
  expect_same_shape("binary_cross_entropy", prediction, labels);
  Tensor y = cast(labels, prediction.dtype());
  if (o.label_smoothing != 0) y = y * (1 - o.label_smoothing) + o.label_smoothing / 2;
  if (from_logits) {  // max(x, 0) - x y + log(1 + exp(-|x|))
    const Tensor x = prediction, positive = maximum(x, scalar_like(x, 0));
    return reduced(sample_mean(positive - x * y + log1p(exp(-abs(x)))), o);
  }
  const Tensor p = clamp(prediction, kEpsilon, 1 - kEpsilon);
  return reduced(sample_mean(-(y * log(p) + (1.0 - y) * log(1.0 - p))), o);
}

Tensor mean_squared_error(Tensor prediction, Tensor target, const LossOptions& o) {
  expect_same_shape("mean_squared_error", prediction, target);
  return reduced(sample_mean(square(prediction - cast(target, prediction.dtype()))), o);
}

Tensor mean_absolute_error(Tensor prediction, Tensor target, const LossOptions& o) {
  expect_same_shape("mean_absolute_error", prediction, target);
  return reduced(sample_mean(abs(prediction - cast(target, prediction.dtype()))), o);
}

Tensor huber(Tensor prediction, Tensor target, double delta, const LossOptions& o) {
  expect_same_shape("huber", prediction, target);
  const Tensor e = abs(prediction - cast(target, prediction.dtype()));
  const Tensor near = compare(e, scalar_like(e, delta), CompareKind::kLe);
  return reduced(sample_mean(select(near, square(e) * 0.5, e * delta - 0.5 * delta * delta)), o);
}

}  // namespace tenon
